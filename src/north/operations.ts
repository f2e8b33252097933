/** The routes of a job's operations: a page of them, and one. They only read. Serves: Endpoints (Jobs). */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { ListingQuery, OperationsPage, OperationView } from '../contract/operation.ts'
import { summaryOf } from '../domain/counters.ts'
import { DroverError } from '../domain/errors.ts'
import { type OperationKey, operationId, parseOperationId } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import type { JobRow } from '../store/jobs.ts'
import { type OperationPageStart, readOperation, readOperationPage } from '../store/operation-reading.ts'
import { requestedJob } from './jobs.ts'
import { type ListingPage, pageView, readListingPage } from './listing.ts'
import { operationView } from './operation-view.ts'

const tags = ['jobs']
const path = '/operation/jobs/:jobId/operations'

/** Registers the routes of a job's operations. */
export function operationRoutes(app: FastifyInstance, { database }: { readonly database: Database }): void {
  app.get(
    path,
    {
      schema: {
        tags,
        summary: "A page of a job's operations",
        params: Type.Object({ jobId: Type.String() }),
        querystring: ListingQuery,
        response: { 200: OperationsPage, 204: Type.Null({ description: 'No operation on this page' }) },
      },
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const asked = readListingPage(request.query)
      const page = await readOperations(database, await requestedJob(database, request), asked)
      return page.operations.length === 0 ? reply.status(204).send() : page
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

/** A page of a job's operations as clients read them, in the order of their keys. */
export async function readOperations(database: Database, job: JobRow, page: ListingPage): Promise<OperationsPage> {
  const rows = await readOperationPage(database, job.job, startOf(job, page), page.size + 1)
  const shown = rows.slice(0, page.size)
  const last = rows.length > page.size ? shown.at(-1) : undefined
  return {
    page: pageView(page, summaryOf(job.counters).total, last && operationId(last)),
    operations: shown.map(row => operationView(row, job)),
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
