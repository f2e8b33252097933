/** The routes of a job's operations: a page of them, and one. They only read. Serves: Endpoints (Jobs). */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { ListingQuery, OperationsPage, OperationView, type PageView } from '../contract/operation.ts'
import { summaryOf } from '../domain/counters.ts'
import { DroverError } from '../domain/errors.ts'
import { type OperationKey, operationId, parseOperationId } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import type { JobRow } from '../store/jobs.ts'
import { type OperationPageStart, readOperation, readOperationPage } from '../store/operation-reading.ts'
import { sendCsv, wantedType } from './csv.ts'
import { requestedJob } from './jobs.ts'
import { type ListingPage, pageView, readListingPage } from './listing.ts'
import { operationView } from './operation-view.ts'
import { createPageText, ROWS_AT_ONCE, sendPage } from './page-text.ts'

const tags = ['jobs']
const path = '/operation/jobs/:jobId/operations'

/** Registers the routes of a job's operations. */
export function operationRoutes(app: FastifyInstance, { database }: { readonly database: Database }): void {
  app.get(
    path,
    {
      schema: {
        tags,
        summary: "A page of a job's operations, or all of them as CSV",
        params: Type.Object({ jobId: Type.String() }),
        querystring: ListingQuery,
        response: { 200: OperationsPage, 204: Type.Null({ description: 'No operation on this page' }) },
      },
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const job = await requestedJob(database, request)
      const type = wantedType(request)
      if (type !== 'application/json') return await sendCsv(reply, type, COLUMNS, csvRows(database, job))
      const text = createPageText('size')
      const page = await readInParts(database, job, readListingPage(request.query), part => text.add(part))
      return sendPage(reply, page, 'operations', text.rows)
    },
  )

  app.get(
    `${path}/:operationId`,
    {
      schema: {
        tags,
        summary: 'One operation',
        params: Type.Object({ jobId: Type.String(), operationId: Type.String() }),
        response: { 200: OperationView },
      },
    },
    async request => {
      const job = await requestedJob(database, request)
      const key = parseOperationId((request.params as { operationId: string }).operationId)
      const operation = key?.job === job.job ? await readOperation(database, key) : undefined
      if (!operation) throw new DroverError('unknown', [{ name: 'operationId' }])
      return operationView(operation, job)
    },
  )
}

/** Columns of CSV, each a path in an operation. */
const COLUMNS = [
  'operationId',
  'entityId',
  'resourceType',
  'status',
  'result',
  'description',
  'attempts.current',
  'attempts.total',
  'execution.startedDate',
  'execution.finishedDate',
  'steps',
]

/** All operations of a job, a batch at a time; each batch goes on after the last of the one before. */
async function* csvRows(database: Database, job: JobRow): AsyncGenerator<(string | null)[][], void, void> {
  for (let start: OperationPageStart = { skip: 0 }; ; ) {
    const rows = await readOperationPage(database, job.job, start, CSV_ROWS_AT_ONCE)
    if (rows.length > 0) yield rows.map(row => cellsOf(operationView(row, job)))
    const last = rows.at(-1)
    if (!last || rows.length < CSV_ROWS_AT_ONCE) return
    start = { after: last }
  }
}

const CSV_ROWS_AT_ONCE = 1_000

function cellsOf({ attempts, execution, steps, ...operation }: OperationView): (string | null)[] {
  const { operationId: id, entityId, resourceType, status, result, description } = operation
  const { startedDate, finishedDate } = execution
  const told = steps.length > 0 ? JSON.stringify(steps) : ''
  const figures = [String(attempts.current), String(attempts.total), startedDate, finishedDate]
  return [id, entityId, resourceType, status, result, description, ...figures, told]
}

/** Reads a page some rows at a time: each may hold all that a device said. */
async function readInParts(
  database: Database,
  job: JobRow,
  page: ListingPage,
  take: (part: OperationView[]) => void,
): Promise<PageView> {
  const total = summaryOf(job.counters).total
  let start = startOf(job, page)
  for (let left = page.size; ; left -= ROWS_AT_ONCE) {
    const wanted = Math.min(left, ROWS_AT_ONCE)
    const rows = await readOperationPage(database, job.job, start, wanted + 1)
    const part = rows.slice(0, wanted)
    take(part.map(row => operationView(row, job)))
    const last = part.at(-1)
    if (rows.length <= wanted || last === undefined) return pageView(page, total)
    if (left <= ROWS_AT_ONCE) return pageView(page, total, operationId(last))
    start = { after: last }
  }
}

/** The cursor is the id of the last operation of the page before. */
function startOf(job: JobRow, { number, size, cursor }: ListingPage): OperationPageStart {
  if (cursor === undefined) return { skip: (number - 1) * size }
  const after: OperationKey | undefined = parseOperationId(cursor)
  if (after?.job !== job.job) {
    throw new DroverError('invalidField', [{ name: 'cursor' }], 'Invalid field: cursor is none of this job.')
  }
  return { after }
}
