/**
 * The routes of connector functions: written, versioned, tried on a sample. They run nothing on a device. Serves: decisions on
 * connector functions.
 */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import './request-caller.ts'
import {
  type ConnectorFunctionAnswer,
  ConnectorFunctionBody,
  ConnectorFunctionChangeBody,
  ConnectorFunctionsAnswer,
  DryRunAnswer,
  DryRunBody,
  ConnectorFunctionAnswer as FunctionAnswer,
  FunctionVersion,
  FunctionVersionsAnswer,
} from '../contract/connector-function.ts'
import { readFunctionRequest, readFunctionResponses } from '../contract/function-answer.ts'
import type { Reading } from '../contract/reading.ts'
import { parseDeviceJson } from '../contract/reading.ts'
import type { FunctionPart } from '../domain/connector-function.ts'
import { DroverError } from '../domain/errors.ts'
import type { ConnectorFunctions } from '../engine/connector-functions.ts'

const tags = ['connector functions']
const path = '/connectorFunctions/provision/organizations/:organization'
const ofOrganization = Type.Object({ organization: Type.String() })
const ofFunction = Type.Object({ organization: Type.String(), functionName: Type.String() })
type Named = { Params: { functionName: string } }
const manage = { access: 'manageOperationTypes' } as const

export interface ConnectorFunctionRoutesParts {
  readonly connectorFunctions: ConnectorFunctions
}

/** Registers the routes of connector functions. */
export function connectorFunctionRoutes(
  app: FastifyInstance,
  { connectorFunctions }: ConnectorFunctionRoutesParts,
): void {
  app.get(
    path,
    {
      schema: {
        tags,
        summary: 'The connector functions of an organization',
        params: ofOrganization,
        response: { 200: ConnectorFunctionsAnswer, 204: Type.Null({ description: 'No function' }) },
      },
    },
    async (request, reply) => {
      const found = await connectorFunctions.list(request.caller.organization)
      return found.length === 0 ? reply.status(204).send() : reply.send(found.map(view))
    },
  )

  app.post<{ Body: ConnectorFunctionBody }>(
    path,
    {
      config: manage,
      schema: {
        tags,
        summary: 'Write a connector function',
        description: 'The source is run alone once: it must define `request`, `response` or both.',
        params: ofOrganization,
        body: ConnectorFunctionBody,
        response: { 201: FunctionAnswer },
      },
    },
    async (request, reply) => {
      const { name, ...members } = request.body
      const made = await connectorFunctions.create(request.caller, name, members)
      return reply
        .status(201)
        .header('location', `${request.url.split('?')[0]}/${encodeURIComponent(name)}`)
        .send(view(made))
    },
  )

  app.get<Named & { Querystring: { version?: number } }>(
    `${path}/:functionName`,
    {
      schema: {
        tags,
        summary: 'One connector function',
        params: ofFunction,
        querystring: Type.Object({ version: Type.Optional(FunctionVersion) }),
        response: { 200: FunctionAnswer },
      },
    },
    async ({ caller, params, query }) =>
      view(await connectorFunctions.read(caller.organization, params.functionName, query.version)),
  )

  app.put<Named & { Body: ConnectorFunctionChangeBody }>(
    `${path}/:functionName`,
    {
      config: manage,
      schema: {
        tags,
        summary: 'Change a connector function',
        description:
          'A changed source makes a version, which runs within seconds; `version` lets an earlier one run again.',
        params: ofFunction,
        body: ConnectorFunctionChangeBody,
        response: { 200: FunctionAnswer },
      },
    },
    async ({ caller, params, body }) => view(await connectorFunctions.change(caller, params.functionName, body)),
  )

  app.delete<Named>(
    `${path}/:functionName`,
    {
      config: manage,
      schema: {
        tags,
        summary: 'Remove a connector function',
        description: 'Operations on devices that are reached by it end as NOT_SUPPORTED from then on.',
        params: ofFunction,
        response: { 200: Type.Null({ description: 'Removed' }) },
      },
    },
    async ({ caller, params }, reply) => {
      await connectorFunctions.remove(caller, params.functionName)
      return reply.status(200).send()
    },
  )

  app.get<Named>(
    `${path}/:functionName/versions`,
    {
      schema: {
        tags,
        summary: 'The versions of a connector function, newest first',
        params: ofFunction,
        response: { 200: FunctionVersionsAnswer },
      },
    },
    async ({ caller, params }) => {
      const found = await connectorFunctions.versions(caller.organization, params.functionName)
      return found.map(({ createdAt, ...version }) => ({ ...version, date: createdAt.toISOString() }))
    },
  )

  app.post<Named & { Body: DryRunBody }>(
    `${path}/:functionName/dryRun`,
    {
      config: manage,
      schema: {
        tags,
        summary: 'Try a connector function on a sample',
        description: 'Shows what the function makes of it, and what would be sent or taken. Nothing is.',
        params: ofFunction,
        body: DryRunBody,
        response: { 200: DryRunAnswer },
      },
    },
    async ({ caller, params, body }) => {
      const { operation, message, device = {}, source, version } = body
      const sample = operation ?? message
      if (sample === undefined || (operation && message)) {
        throw new DroverError('requiredField', [
          { name: 'operation', value: 'give an operation or a message, one of them' },
        ])
      }
      const part: FunctionPart = operation ? 'request' : 'response'
      const given = part === 'request' ? sample : withJson(sample)
      const call = { part, arguments: [given, device], source, version }
      const outcome = await connectorFunctions.dryRun(caller, params.functionName, call)
      if (!outcome.ok) return outcome
      return { ...outcome, ...used(part, outcome.value, sample) }
    },
  )
}

function view({
  name,
  description,
  route,
  version,
  source,
  createdAt,
  updatedAt,
}: ReturnedFunction): ConnectorFunctionAnswer {
  return {
    name,
    ...(description !== null && { description }),
    ...(route !== null && { route }),
    version,
    source,
    createdDate: createdAt.toISOString(),
    updatedDate: updatedAt.toISOString(),
  }
}

type ReturnedFunction = Awaited<ReturnType<ConnectorFunctions['read']>>

/** A sample message has its body as JSON too, as a real one. */
function withJson(message: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const parsed = typeof message.body === 'string' && !('json' in message) ? parseDeviceJson(message.body) : undefined
  return { ...message, ...(parsed?.ok && { json: parsed.value }) }
}

/** What would be done with what the function gave. */
function used(part: FunctionPart, value: unknown, sample: Readonly<Record<string, unknown>>): Partial<DryRunAnswer> {
  if (part === 'response') {
    const operationId = typeof sample.operationId === 'string' ? sample.operationId : undefined
    return told(readFunctionResponses(value, operationId), responses => ({
      responses: responses.map(({ message }) => message),
    }))
  }
  const id = typeof sample.id === 'string' && sample.id !== '' ? sample.id : 'sample'
  return told(readFunctionRequest(value, id), asked =>
    asked.way === 'result' ? { sends: { result: asked.response.message } } : { sends: asked },
  )
}

function told<T>(reading: Reading<T>, show: (value: T) => Partial<DryRunAnswer>): Partial<DryRunAnswer> {
  if (reading.ok) return show(reading.value)
  return { ok: false, fault: 'unusable', description: `${reading.field} ${reading.reason}`.trim() }
}
