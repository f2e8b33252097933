/**
 * The route of bulk provisioning: entities in JSON or CSV, read as they come and done a thousand at a time, a result for each.
 * Serves: Authentication and device-side endpoints (provisioning).
 */
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import './request-caller.ts'
import { BulkAnswer, BulkBody, BulkQuery, type BulkRow } from '../contract/entity.ts'
import type { Reading } from '../contract/reading.ts'
import { readEntityForm } from '../domain/entity-form.ts'
import { DroverError } from '../domain/errors.ts'
import type { Problem } from '../domain/problems.ts'
import { isAbsent, readWord } from '../domain/reading.ts'
import { refusalOf } from '../domain/refusal.ts'
import {
  ENTITY_ACTIONS,
  type Entities,
  type EntityAction,
  type EntityOutcome,
  type EntityRequest,
} from '../engine/entities.ts'
import { csvEntities } from './bulk-csv.ts'
import { jsonElements } from './bulk-json.ts'
import { judgedByReader } from './jobs.ts'

export interface BulkRoutesParts {
  readonly entities: Entities
  /** bytes of one body */
  readonly bulkBytesMax: number
  /** entities of one body */
  readonly bulkRowsMax: number
}

/** Rows of one transaction, and bytes after which it is not waited for more of them. */
const BATCH_ROWS = 1_000
const BATCH_BYTES = 2_000_000

const CSV_TYPES = ['text/csv', 'text/plain']

/** Registers the route, under whatever prefix the instance has. */
export function bulkRoutes(app: FastifyInstance, parts: BulkRoutesParts): void {
  // In a scope of its own: only here is a body not read whole.
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    const types = ['application/json', ...CSV_TYPES]
    scope.addContentTypeParser(types, (_request, body, done) => done(null, body))
    scope.post(
      '/provision/organizations/:organization/bulk/entities',
      {
        config: { access: 'manageDevices' },
        schema: {
          tags: ['entities'],
          summary: 'Create, replace, patch or delete many entities',
          description:
            'As JSON or CSV. Each row is done or refused on its own, and answered in order; `Accept: text/plain` answers as CSV, ' +
            '`statusCode;location;errors`.',
          params: Type.Object({ organization: Type.String() }),
          querystring: BulkQuery,
          body: {
            content: {
              'application/json': { schema: BulkBody },
              'text/csv': {
                schema: Type.String({ description: 'The first line names ids, each further one is an entity' }),
              },
            },
          },
          response: { 200: BulkAnswer },
        },
        validatorCompiler: judgedByReader,
      },
      async (request, reply) => answer(request, reply, await provision(request, parts)),
    )
  })
}

/** Where nothing was done before the fault, the request is refused as any other. */
function answer(request: FastifyRequest, reply: FastifyReply, { rows, fault }: Provisioned): FastifyReply {
  if (fault !== undefined && rows.length === 0) throw fault
  reply.status(fault === undefined ? 200 : statusOf(fault))
  return wantsCsv(request)
    ? reply.type('text/plain; charset=utf-8').send(csvOf(rows, fault))
    : reply.send(answerOf(rows, fault))
}

interface Provisioned {
  readonly rows: readonly BulkRow[]
  /** what ended the reading of the body before its end */
  readonly fault: DroverError | undefined
}

async function provision(
  request: FastifyRequest,
  { entities, bulkBytesMax, bulkRowsMax }: BulkRoutesParts,
): Promise<Provisioned> {
  const { action, flattened } = readQuery(request)
  const place = `${request.url.split('?')[0]!.replace(/\/bulk\/entities$/, '')}/entities`
  const body = request.body as Readable
  const rows: BulkRow[] = []
  let batch: (EntityRequest | DroverError)[] = []
  let bytes = 0
  let bytesDone = 0

  async function* chunks(): AsyncGenerator<Uint8Array> {
    // The answer goes out by the same socket: a reading that ends early must not destroy it.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > bulkBytesMax) throw new DroverError('tooLarge', [{ name: 'body', value: bulkBytesMax }])
      yield chunk
    }
  }

  async function flush(): Promise<void> {
    const asked = batch.filter((each): each is EntityRequest => !isRefusal(each))
    const done = (await entities.write(request.caller, action, asked)).values()
    for (const each of batch) {
      const outcome = isRefusal(each) ? ({ ok: false, error: each } as const) : done.next().value!
      rows.push(rowOf(outcome, action, place))
    }
    batch = []
    bytesDone = bytes
  }

  const isCsv = CSV_TYPES.some(type => request.headers['content-type']?.startsWith(type))
  const bodies: AsyncIterable<Reading<unknown>> = isCsv ? csvEntities(chunks()) : jsonElements(chunks(), 'entities')
  try {
    for await (const each of bodies) {
      if (rows.length + batch.length >= bulkRowsMax)
        throw new DroverError('tooLarge', [{ name: 'entities', value: bulkRowsMax }])
      batch.push(askedIn(each, isCsv || flattened))
      if (batch.length >= BATCH_ROWS || bytes - bytesDone >= BATCH_BYTES) await flush()
    }
    await flush()
    return { rows, fault: undefined }
  } catch (error) {
    // What is still to come is thrown away, so that the client gets to read its answer.
    body.resume()
    if (!isRefusal(error)) throw error
    await flush()
    return { rows, fault: error }
  }
}

function readQuery({ query }: FastifyRequest): { readonly action: EntityAction; readonly flattened: boolean } {
  const { action, flattened } = query as Readonly<Record<string, unknown>>
  const problems: Problem[] = []
  const word = readWord(action, 'action', ENTITY_ACTIONS, problems)
  const form = isAbsent(flattened) ? 'false' : readWord(flattened, 'flattened', ['true', 'false'], problems)
  if (word === undefined || form === undefined) throw refusalOf(problems)
  return { action: word, flattened: form === 'true' }
}

function askedIn(body: Reading<unknown>, flattened: boolean): EntityRequest | DroverError {
  if (!body.ok) return new DroverError('malformed', [{ name: body.field || 'entity', value: body.reason }])
  const said = readEntityForm(body.value, flattened)
  return said.ok ? { said: said.value } : refusalOf(said.problems)
}

function rowOf(outcome: EntityOutcome, action: EntityAction, place: string): BulkRow {
  if (!outcome.ok) return { statusCode: statusOf(outcome.error), errors: [errorOf(outcome.error)] }
  const { identifier, apiKey } = outcome
  return {
    identifier,
    statusCode: action === 'CREATE' ? 201 : 200,
    ...(action !== 'DELETE' && { location: `${place}/${encodeURIComponent(identifier)}` }),
    ...(apiKey !== undefined && { apiKey }),
  }
}

function answerOf(rows: readonly BulkRow[], fault: DroverError | undefined): BulkAnswer {
  return {
    total: rows.length,
    failed: rows.filter(({ errors }) => errors !== undefined).length,
    entities: [...rows],
    ...(fault !== undefined && { errors: [errorOf(fault)] }),
  }
}

function csvOf(rows: readonly BulkRow[], fault: DroverError | undefined): string {
  const lines = rows.map(({ statusCode, location = '', errors = [] }) =>
    [statusCode, cell(location), cell(errors.map(textOf).join(' '))].join(';'),
  )
  if (fault !== undefined) lines.push([statusOf(fault), '', cell(textOf(errorOf(fault)))].join(';'))
  return ['statusCode;location;errors', ...lines, ''].join('\n')
}

type RowError = NonNullable<BulkRow['errors']>[number]

function errorOf({ entry, message, context }: DroverError): RowError {
  return { code: entry.code, message, ...(context.length > 0 && { context: [...context] }) }
}

function textOf({ code, message, context = [] }: RowError): string {
  return `${code} ${message} ${context.map(({ name }) => name).join(', ')}`.trim()
}

function cell(text: string): string {
  return /[;"\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Of one row; what a whole request could meet beside these does not occur here. */
function statusOf({ entry }: DroverError): number {
  return entry.kind === 'unknown' ? 404 : entry.kind === 'tooLarge' ? 413 : 400
}

function isRefusal(value: unknown): value is DroverError {
  return value instanceof DroverError
}

function wantsCsv({ headers }: FastifyRequest): boolean {
  return /\btext\/(plain|csv)\b/.test(headers.accept ?? '')
}
