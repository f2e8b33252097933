/**
 * The log of deliveries: what is told to clients, to whom, how often it was tried and what came of it. It stays when the queue has
 * forgotten. Serves: Events.
 */
import type { DeliveryChannel, DeliveryEvent, DeliveryState } from '../domain/delivery.ts'
import type { Queryable, Transaction } from './database.ts'
import { render, sql, statement } from './statement.ts'

/** A delivery as it is made. */
export interface NewDelivery {
  readonly delivery: string
  readonly organization: number
  readonly job: bigint
  readonly channel: DeliveryChannel
  readonly event: DeliveryEvent
  readonly receiver: string
  readonly host: string
  /** JSON */
  readonly body: string
  /** false where the body still lacks the page of operations */
  readonly complete: boolean
}

/** A delivery as it is logged, without its body. */
export interface LoggedDelivery {
  delivery: string
  job: bigint
  channel: DeliveryChannel
  event: DeliveryEvent
  receiver: string
  host: string
  state: DeliveryState
  attempts: number
  lastStatus: number | null
  lastError: string | null
  createdAt: Date
  openedAt: Date
  attemptedAt: Date | null
  endedAt: Date | null
}

const loggedColumnsSql = sql`delivery, job, channel, event, receiver, host, state, attempts, last_status as "lastStatus",
  last_error as "lastError", created_at as "createdAt", opened_at as "openedAt", attempted_at as "attemptedAt",
  ended_at as "endedAt"`
const loggedColumns = render(loggedColumnsSql).text

const insert = statement<
  { delivery: string },
  [string[], number[], bigint[], string[], string[], string[], string[], string[], boolean[], Date]
>(
  'deliveries_insert',
  `insert into delivery (delivery, organization, job, channel, event, receiver, host, body, complete, state, created_at,
                         opened_at)
   select d.delivery, d.organization, d.job, d.channel, d.event, d.receiver, d.host, d.body, d.complete, 'OPEN', $10, $10
     from unnest($1::uuid[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[])
          as d (delivery, organization, job, channel, event, receiver, host, body, complete)
   on conflict do nothing
   returning delivery`,
)

/** Logs new deliveries and answers the ids of those that were not there. */
export async function insertDeliveries(
  tx: Transaction,
  deliveries: readonly NewDelivery[],
  now: Date,
): Promise<Set<string>> {
  const rows = await tx.run(insert, [
    deliveries.map(each => each.delivery),
    deliveries.map(each => each.organization),
    deliveries.map(each => each.job),
    deliveries.map(each => each.channel),
    deliveries.map(each => each.event),
    deliveries.map(each => each.receiver),
    deliveries.map(each => each.host),
    deliveries.map(each => each.body),
    deliveries.map(each => each.complete),
    now,
  ])
  return new Set(rows.map(row => row.delivery))
}

/** Where a walk over open deliveries stands. */
export interface OpenDelivery {
  delivery: string
  job: bigint
  channel: DeliveryChannel
  host: string
  createdAt: Date
}

const open = statement<OpenDelivery, [Date, string, number]>(
  'deliveries_open',
  `select delivery, job, channel, host, created_at as "createdAt" from delivery
    where state = 'OPEN' and (created_at, delivery) > ($1, $2) order by created_at, delivery limit $3`,
)

/** Open deliveries in the order of their making, after the one given. */
export function readOpenDeliveries(
  tx: Transaction,
  after: Pick<OpenDelivery, 'createdAt' | 'delivery'>,
  limit: number,
): Promise<OpenDelivery[]> {
  return tx.run(open, [after.createdAt, after.delivery, limit])
}

/** What an attempt needs. */
export interface DueDelivery {
  delivery: string
  organization: number
  job: bigint
  channel: DeliveryChannel
  event: DeliveryEvent
  receiver: string
  host: string
  body: string
  complete: boolean
  state: DeliveryState
  openedAt: Date
  /** the start of the same job, by the same channel, is still to be told */
  early: boolean
}

const due = statement<DueDelivery, [string[]]>(
  'deliveries_due',
  `select d.delivery, d.organization, d.job, d.channel, d.event, d.receiver, d.host, d.body, d.complete, d.state, d.opened_at as "openedAt",
          d.event = 'jobFinished' and exists (
            select from delivery s
             where s.job = d.job and s.channel = d.channel and s.event = 'jobStarted' and s.state = 'OPEN') as early
     from delivery d where d.delivery = any($1::uuid[])`,
)

/** The deliveries of claims. One that is gone, with its organization, is left out. */
export function readDueDeliveries(db: Queryable, deliveries: readonly string[]): Promise<DueDelivery[]> {
  return db.run(due, [[...deliveries]])
}

const complete = statement<unknown, [string, string]>(
  'deliveries_complete',
  'update delivery set body = $2, complete = true where delivery = $1 and not complete',
)

/** Keeps the whole body, so that every later attempt sends the same. */
export async function completeDelivery(db: Queryable, delivery: string, body: string): Promise<void> {
  await db.run(complete, [delivery, body])
}

/** What came of one attempt. */
export interface DeliveryAttempt {
  readonly delivery: string
  /** the state before and after; a delivery that is in another meanwhile keeps it */
  readonly from: DeliveryState
  readonly to: DeliveryState
  readonly status: number | null
  readonly error: string | null
  readonly attemptedAt: Date
}

const record = statement<unknown, [string[], string[], string[], (number | null)[], (string | null)[], Date[]]>(
  'deliveries_record',
  `update delivery d
      set attempts = d.attempts + 1, last_status = a.status, last_error = a.error, attempted_at = a.attempted_at,
          state = case when d.state = a.before then a.after else d.state end,
          ended_at = case when d.state = a.before and a.after <> 'OPEN' then a.attempted_at else d.ended_at end
     from unnest($1::uuid[], $2::text[], $3::text[], $4::int[], $5::text[], $6::timestamptz[])
          as a (delivery, before, after, status, error, attempted_at)
    where d.delivery = a.delivery`,
)

/** Logs attempts, each of another delivery. */
export async function recordAttempts(tx: Transaction, attempts: readonly DeliveryAttempt[]): Promise<void> {
  await tx.run(record, [
    attempts.map(each => each.delivery),
    attempts.map(each => each.from),
    attempts.map(each => each.to),
    attempts.map(each => each.status),
    attempts.map(each => each.error),
    attempts.map(each => each.attemptedAt),
  ])
}

const read = statement<LoggedDelivery, [number, string]>(
  'deliveries_read',
  `select ${loggedColumns} from delivery where organization = $1 and delivery = $2`,
)

/** One delivery of an organization, or undefined. */
export async function readDelivery(
  db: Queryable,
  organization: number,
  delivery: string,
): Promise<LoggedDelivery | undefined> {
  return (await db.run(read, [organization, delivery]))[0]
}

const lock = statement<LoggedDelivery, [number, string]>(
  'deliveries_lock',
  `select ${loggedColumns} from delivery where organization = $1 and delivery = $2 for no key update`,
)

const reopen = statement<unknown, [string, Date]>(
  'deliveries_reopen',
  `update delivery set state = 'OPEN', opened_at = $2, ended_at = null where delivery = $1`,
)

/** Locks one delivery of an organization until the transaction ends. */
export async function lockDelivery(
  tx: Transaction,
  organization: number,
  delivery: string,
): Promise<LoggedDelivery | undefined> {
  return (await tx.run(lock, [organization, delivery]))[0]
}

/** Makes a delivery open once more: it is tried from `now` on for as long as a new one. */
export async function reopenDelivery(tx: Transaction, delivery: string, now: Date): Promise<void> {
  await tx.run(reopen, [delivery, now])
}

const forget = statement<unknown, [Date, number]>(
  'deliveries_forget',
  `delete from delivery
    where ctid = any(array(select ctid from delivery where ended_at < $1 order by ended_at limit $2 for update skip locked))`,
)

/** Forgets up to `limit` deliveries that ended before an instant, the oldest first; answers how many. */
export function forgetDeliveries(db: Queryable, before: Date, limit: number): Promise<number> {
  return db.count(forget, [before, limit])
}

/** Which part of the log; null for any. */
export interface DeliverySelection {
  readonly organization: number
  readonly job: bigint | null
  readonly state: DeliveryState | null
}

/** Counting ends here: the number of pages is exact up to so many deliveries. */
const DELIVERIES_COUNTED_MAX = 100_000

/** A page of the log, latest first, and how many there are in all, counted up to `DELIVERIES_COUNTED_MAX`. */
export async function listDeliveries(
  db: Queryable,
  { organization, job, state }: DeliverySelection,
  page: { readonly offset: number; readonly size: number },
): Promise<{ deliveries: LoggedDelivery[]; count: number }> {
  const ofJob = job === null ? sql.empty : sql`and job = ${job}`
  const inState = state === null ? sql.empty : sql`and state = ${state}`
  const selected = sql`from delivery where organization = ${organization} ${ofJob} ${inState}`
  const deliveries = await db.query<LoggedDelivery>(
    sql`select ${loggedColumnsSql} ${selected} order by created_at desc, delivery desc
        offset ${page.offset} limit ${page.size}`,
  )
  const counted = await db.query<{ count: number }>(
    sql`select count(*)::int as count from (select ${selected} limit ${DELIVERIES_COUNTED_MAX}) d`,
  )
  return { deliveries, count: counted[0]?.count ?? 0 }
}
