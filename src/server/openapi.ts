/**
 * The interface as an OpenAPI 3.1 document, made of the schemas that the routes carry, and its two addresses: `/openapi.json` and the
 * page `/docs`. It describes what is registered after it; it judges no request.
 */
import fastifySwagger, { type SwaggerTransform } from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import '../north/authentication.ts'
import about from '../../package.json' with { type: 'json' }
import { exampleOf, withExamples } from './openapi-examples.ts'
import { openapiPage, PAGE_POLICY } from './openapi-page.ts'

/** The tags in the order of the page. */
const TAGS: Readonly<Record<string, string>> = {
  jobs: 'Operations on fleets: create, follow, change and cancel them.',
  tasks: 'Jobs that repeat.',
  'operation types': 'What can be run, and on which devices.',
  devices: 'What devices call: answers, pending requests, collected data.',
}

/** What an answer that is not a success means, whatever the route. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request is not valid, or not possible in the present state.',
  401: 'No credentials, or none that are good.',
  403: 'The profile of the caller does not permit this.',
  404: 'Nothing has this id, or it belongs to another organization.',
  413: 'The body is larger than allowed.',
  415: 'The body is not JSON.',
  429: 'Too many at once; `retry-after` says when to come again.',
  500: 'A fault of the service; its log has the details under the request id.',
  503: 'The service cannot take work now; `retry-after` says when to come again.',
}

const ERROR_BODY = {
  type: 'object',
  required: ['errors'],
  properties: {
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: { type: 'string', description: 'For programs', examples: ['0x010003'] },
          message: { type: 'string', description: 'For people', examples: ['Forbidden field.'] },
          context: {
            type: 'array',
            description: 'The fields at fault, by the path under which the client sent them',
            items: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, value: {} } },
          },
        },
      },
    },
  },
}

const refusalRef = (status: number) => ({ $ref: `#/components/responses/Refusal${status}` })

type Content = Parameters<typeof withExamples>[0]

interface Operation {
  parameters?: { in: string; name: string; schema?: object; example?: unknown }[]
  requestBody?: { content?: Content }
  security?: readonly object[]
  responses?: Record<string, { content?: Content }>
  operationId?: string
}
interface Document {
  paths?: Record<string, Record<string, Operation>>
}

/** The refusals that an operation may meet. */
function refusalsOf(operation: Operation): number[] {
  const bodyless = operation.requestBody === undefined
  return Object.keys(REFUSALS)
    .map(Number)
    .filter(status => {
      if (status === 413 || status === 415) return !bodyless
      if (status === 401 || status === 403) return operation.security?.length !== 0
      if (status === 404) return operation.parameters?.some(parameter => parameter.in === 'path') ?? false
      return true
    })
}

/** `post` on `/north/v80/operation/jobs/{jobId}` as `postNorthOperationJobsJobId`: a name for generated clients. */
function operationName(method: string, path: string): string {
  const words = path
    .replace('/v80/', '/')
    .split(/[^A-Za-z0-9]+/)
    .filter(word => word !== '')
  return method + words.map(word => word[0]!.toUpperCase() + word.slice(1)).join('')
}

/** Shows what goes in and what comes out, wherever the route itself does not. */
function showExamples({ parameters = [], requestBody, responses = {} }: Operation): void {
  for (const parameter of parameters) {
    if (parameter.in === 'path')
      parameter.example = exampleOf({ type: 'string' }, { holder: '', depth: 0, ...parameter })
  }
  for (const each of [requestBody, ...Object.values(responses)]) {
    if (each?.content) each.content = withExamples(each.content)
  }
}

/** The document with what holds for every operation: its name, examples, and how a refusal reads. */
function completed<T extends Document>(document: T): T {
  for (const [path, operations] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(operations)) {
      operation.operationId ??= operationName(method, path)
      showExamples(operation)
      const refusals = refusalsOf(operation).map(status => [status, refusalRef(status)])
      operation.responses = { ...operation.responses, ...Object.fromEntries(refusals) }
    }
  }
  return document
}

/** Who may call a route, as its configuration says; what is hidden stays so. */
const withSecurity: SwaggerTransform = ({ schema, url, route }) => {
  const known = schema ?? {}
  if (!/^\/(north|south)\//.test(url)) return { schema: { ...known, hide: true }, url }
  const ways = [{ bearer: [] }, { apiKey: [] }, ...(url.startsWith('/south/') ? [{ apiKeyInQuery: [] }] : [])]
  return { schema: { ...known, security: route.config?.access === 'open' ? [] : ways }, url }
}

/** Gives a server its description. To be called before the routes that it shall know. Serves: Endpoints. */
export function describeInterface(server: FastifyInstance): void {
  server.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Drover',
        version: about.version,
        description: about.description,
        license: { name: about.license, identifier: about.license },
      },
      // Relative: the document is right wherever it was fetched from, behind a proxy too.
      servers: [{ url: '/', description: 'This service' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-ApiKey' },
          apiKeyInQuery: { type: 'apiKey', in: 'query', name: 'X-ApiKey' },
        },
        schemas: { ErrorBody: ERROR_BODY as object },
        responses: Object.fromEntries(
          Object.entries(REFUSALS).map(([status, description]) => [
            `Refusal${status}`,
            { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } } },
          ]),
        ),
      },
    },
    transform: withSecurity,
    transformObject: found => ('openapiObject' in found ? completed(found.openapiObject as Document) : {}),
  })
  server.register(async app => {
    const document = once(() => JSON.stringify(server.swagger()))
    const page = once(() => openapiPage(JSON.parse(document())))
    app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
      reply.type('application/json').send(document()),
    )
    app.get('/docs', { schema: { hide: true } }, async (_request, reply) =>
      reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(page()),
    )
  })
}

/** Routes do not change once the server is ready. */
function once(make: () => string): () => string {
  let made: string | undefined
  return () => {
    made ??= make()
    return made
  }
}
