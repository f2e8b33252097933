/** The routes of the log of deliveries: a page of it, one delivery, and its repeat. Serves: Events. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import './request-caller.ts'
import { Type } from 'typebox'
import { DeliveriesPage, DeliveriesQuery, DeliveryView } from '../contract/delivery.ts'
import { DELIVERY_STATES } from '../domain/delivery.ts'
import { DroverError } from '../domain/errors.ts'
import { jobId, parseJobId } from '../domain/identity.ts'
import { dateText } from '../domain/job-report.ts'
import type { Problem } from '../domain/problems.ts'
import { isAbsent, readWord } from '../domain/reading.ts'
import { refusalOf } from '../domain/refusal.ts'
import type { Clock } from '../engine/clock.ts'
import { repeatDelivery } from '../engine/deliveries.ts'
import type { Database } from '../store/database.ts'
import { type DeliverySelection, type LoggedDelivery, listDeliveries, readDelivery } from '../store/deliveries.ts'
import type { DeliveryQueue } from '../store/delivery-queue.ts'
import { sendCsv, wantedType } from './csv.ts'
import { judgedByReader, mustExecute } from './jobs.ts'
import { pageView, readListingPage } from './listing.ts'

export interface DeliveryRoutesParts {
  readonly database: Database
  readonly queue: DeliveryQueue
  readonly clock: Clock
}

const tags = ['deliveries']
const path = '/deliveries'
const params = Type.Object({ deliveryId: Type.String() })

/** Registers the routes of deliveries, under whatever prefix the instance has. */
export function deliveryRoutes(app: FastifyInstance, { database, queue, clock }: DeliveryRoutesParts): void {
  app.get(
    path,
    {
      schema: {
        tags,
        summary: 'A page of the log of deliveries, latest first, or all of it as CSV',
        querystring: DeliveriesQuery,
        response: { 200: DeliveriesPage, 204: Type.Null({ description: 'No delivery on this page' }) },
      },
      validatorCompiler: judgedByReader,
    },
    async (request, reply) => {
      const selection = readSelection(request)
      const type = wantedType(request)
      if (type !== 'application/json') return await sendCsv(reply, type, COLUMNS, csvRows(database, selection))
      const page = readListingPage(request.query)
      const offset = (page.number - 1) * page.size
      const { deliveries, count } = await listDeliveries(database, selection, { offset, size: page.size })
      if (deliveries.length === 0) return reply.status(204).send()
      return { page: pageView(page, count), deliveries: deliveries.map(deliveryView) }
    },
  )

  app.get(
    `${path}/:deliveryId`,
    { schema: { tags, summary: 'One delivery', params, response: { 200: DeliveryView } } },
    async request => viewOf(await readDelivery(database, request.caller.organization, requestedDelivery(request))),
  )

  app.post(
    `${path}/:deliveryId/repeat`,
    {
      schema: {
        tags,
        summary: 'Deliver once more what ended, or at once what waits for its next attempt',
        params,
        response: { 200: DeliveryView },
      },
    },
    async request => {
      mustExecute(request)
      const { organization } = request.caller
      return viewOf(await repeatDelivery(database, queue, organization, requestedDelivery(request), clock.now()))
    },
  )
}

/** Columns of CSV, each a member of a delivery. */
const COLUMNS = [
  'id',
  'jobId',
  'event',
  'channel',
  'receiver',
  'state',
  'attempts',
  'lastStatus',
  'lastError',
  'createdDate',
  'attemptedDate',
  'finishedDate',
] as const satisfies readonly (keyof DeliveryView)[]

const CSV_ROWS_AT_ONCE = 1_000

/** The log, a batch at a time; what is logged meanwhile may show a row twice, none is left out. */
async function* csvRows(
  database: Database,
  selection: DeliverySelection,
): AsyncGenerator<(string | null)[][], void, void> {
  for (let offset = 0; ; offset += CSV_ROWS_AT_ONCE) {
    const { deliveries } = await listDeliveries(database, selection, { offset, size: CSV_ROWS_AT_ONCE })
    const views = deliveries.map(deliveryView)
    if (views.length > 0) yield views.map(view => COLUMNS.map(column => String(view[column] ?? '')))
    if (views.length < CSV_ROWS_AT_ONCE) return
  }
}

function readSelection({ caller, query }: FastifyRequest): DeliverySelection {
  const { job, state } = query as Readonly<Record<string, unknown>>
  const problems: Problem[] = []
  const number = typeof job === 'string' ? parseJobId(job) : undefined
  if (!isAbsent(job) && number === undefined)
    problems.push({ path: 'job', message: 'must be a job id', kind: 'invalid' })
  const word = isAbsent(state) ? undefined : readWord(state, 'state', DELIVERY_STATES, problems)
  if (problems.length > 0) throw refusalOf(problems)
  return { organization: caller.organization, job: number ?? null, state: word ?? null }
}

const unknownDelivery = () => new DroverError('unknown', [{ name: 'deliveryId' }])

function requestedDelivery({ params }: FastifyRequest): string {
  const { deliveryId } = params as { deliveryId: string }
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(deliveryId)) throw unknownDelivery()
  return deliveryId
}

function viewOf(delivery: LoggedDelivery | undefined): DeliveryView {
  if (!delivery) throw unknownDelivery()
  return deliveryView(delivery)
}

function deliveryView(delivery: LoggedDelivery): DeliveryView {
  return {
    id: delivery.delivery,
    jobId: jobId(delivery.job),
    event: delivery.event,
    channel: delivery.channel,
    receiver: delivery.receiver || delivery.host,
    state: delivery.state,
    attempts: delivery.attempts,
    ...(delivery.lastStatus !== null && { lastStatus: delivery.lastStatus }),
    ...(delivery.lastError !== null && { lastError: delivery.lastError }),
    createdDate: dateText(delivery.createdAt),
    attemptedDate: dateText(delivery.attemptedAt),
    finishedDate: dateText(delivery.endedAt),
  }
}
