/** The routes of operation types: the catalog, the types of an organization, and their search. Serves: Operation types. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import './request-caller.ts'
import {
  ClosedAnswer,
  OperationTypeAnswer,
  OperationTypeBody,
  OperationTypeChangeBody,
  OperationTypesAnswer,
} from '../contract/operation-type.ts'
import { SearchBody } from '../contract/search.ts'
import { CATALOG, catalogType } from '../domain/catalog.ts'
import { DroverError } from '../domain/errors.ts'
import { TYPE_MEMBERS } from '../domain/operation-type.ts'
import { parseSearch } from '../domain/search.ts'
import { findTypes, typeFields, valuesOf } from '../engine/operation-type-search.ts'
import type { OperationTypes, TypeMembers } from '../engine/operation-types.ts'
import { sendCsv, wantedType } from './csv.ts'
import { judgedByReader } from './jobs.ts'
import { judgeAliases, nest } from './selected-row.ts'

const tags = ['operation types']
const path = '/operationTypes/provision/organizations/:organization'
const ofOrganization = Type.Object({ organization: Type.String() })
const ofType = Type.Object({ organization: Type.String(), operationName: Type.String() })
const nothing = Type.Null({ description: 'No type' })
type Named = { Params: { operationName: string } }

/** The schema of parameters, also where it came as `{"schema": …}`. */
function unwrapped<Body extends OperationTypeChangeBody>(body: Body): Body & TypeMembers {
  const schema = body.parameters?.schema
  const wrapped = body.parameters && !('type' in body.parameters) && typeof schema === 'object' && schema !== null
  const parameters = wrapped ? { parameters: schema as Record<string, unknown> } : {}
  return { ...body, ...parameters } as Body & TypeMembers
}

export function operationTypeRoutes(
  app: FastifyInstance,
  { operationTypes }: { readonly operationTypes: OperationTypes },
): void {
  app.get(
    '/operationTypes/catalog',
    {
      schema: { tags, summary: 'The catalog: what types can be cloned from', response: { 200: OperationTypesAnswer } },
    },
    async () => CATALOG,
  )

  app.get<Named>(
    '/operationTypes/catalog/:operationName',
    {
      schema: {
        tags,
        summary: 'One type of the catalog',
        params: Type.Object({ operationName: Type.String() }),
        response: { 200: OperationTypeAnswer },
      },
    },
    async request => {
      const { operationName } = request.params
      const type = catalogType(operationName)
      if (!type) throw new DroverError('unknown', [{ name: 'operationName', value: operationName }])
      return type
    },
  )

  app.get(
    path,
    {
      schema: {
        tags,
        summary: 'The types of an organization',
        params: ofOrganization,
        response: { 200: OperationTypesAnswer, 204: nothing },
      },
    },
    async (request, reply) => answer(reply, await operationTypes.list(request.caller.organization)),
  )

  app.post<{ Body: OperationTypeBody }>(
    path,
    {
      config: { access: 'manageOperationTypes' },
      schema: {
        tags,
        summary: 'Create a type, from the catalog or from scratch',
        params: ofOrganization,
        body: OperationTypeBody,
        response: { 201: OperationTypeAnswer },
      },
    },
    async (request, reply) => {
      const type = await operationTypes.create(request.caller, unwrapped(request.body))
      return reply
        .status(201)
        .header('location', `${request.url.split('?')[0]}/${encodeURIComponent(type.name)}`)
        .send(type)
    },
  )

  app.get<Named>(
    `${path}/:operationName`,
    {
      schema: { tags, summary: 'One type of an organization', params: ofType, response: { 200: OperationTypeAnswer } },
    },
    async request => operationTypes.read(request.caller.organization, request.params.operationName),
  )

  app.put<Named & { Body: OperationTypeChangeBody }>(
    `${path}/:operationName`,
    {
      config: { access: 'manageOperationTypes' },
      schema: {
        tags,
        summary: 'Change a type',
        description:
          'Of a clone only name, title and description can be changed. Tasks, and jobs that have not started, go on under a new name; ' +
          'it is refused while a job of the type runs.',
        params: ofType,
        body: OperationTypeChangeBody,
        response: { 200: OperationTypeAnswer },
      },
    },
    async request => operationTypes.change(request.caller, request.params.operationName, unwrapped(request.body)),
  )

  app.delete<Named>(
    `${path}/:operationName`,
    {
      config: { access: 'manageOperationTypes' },
      schema: {
        tags,
        summary: 'Remove a type',
        description: 'Its open operations end as CANCELLED_INTERNAL, its tasks are cancelled; the answer lists both.',
        params: ofType,
        response: { 200: ClosedAnswer },
      },
    },
    async request => operationTypes.remove(request.caller, request.params.operationName),
  )

  async function search(request: FastifyRequest, reply: FastifyReply) {
    const { caseSensitive } = request.query as { caseSensitive?: unknown }
    const asked = parseSearch(request.body, typeFields, { caseSensitive: caseSensitive !== 'false' })
    const found = findTypes(await operationTypes.list(request.caller.organization), asked)
    const type = wantedType(request)
    if (type !== 'application/json') return await sendCsv(reply, type, TYPE_MEMBERS, csvRows(found))
    if (asked.select.length === 0) return answer(reply, found)
    const columns = asked.select.map(column => ({ ...column, path: [column.alias] }))
    judgeAliases(columns)
    const rows = found.map(type =>
      nest(columns.map(({ field, path }) => ({ path, value: plain(valuesOf(type, field)) }))),
    )
    return answer(reply, rows)
  }

  for (const [address, summary] of [
    ['/search/operationTypes', 'Search types'],
    ['/operationTypes/search', 'Search types, at its other address'],
  ] as const) {
    app.post(
      address,
      {
        config: { access: 'read' },
        schema: { tags, summary, body: SearchBody, response: { 200: OperationTypesAnswer, 204: nothing } },
        validatorCompiler: judgedByReader,
      },
      search,
    )
  }
}

async function* csvRows(found: readonly object[]): AsyncGenerator<(string | null)[][], void, void> {
  const members: readonly Readonly<Record<string, unknown>>[] = found.map(type => ({ ...type }))
  yield members.map(type => TYPE_MEMBERS.map(column => cellText(type[column])))
}

function cellText(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A bare array; an empty one is no content. */
function answer(reply: FastifyReply, types: readonly unknown[]): FastifyReply {
  return types.length === 0 ? reply.status(204).send() : reply.send(types)
}

/** One value as it is, several as a list, none as nothing. */
function plain(values: readonly unknown[]): unknown {
  return values.length > 1 ? values : values[0]
}
