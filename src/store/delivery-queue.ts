/**
 * The queue of deliveries, on pg-boss in the same database: in order for each key, few at a time for each group, entered in the
 * transaction that causes them. It holds only what is to be done; what was done is in the log of deliveries. An entry never fails
 * there: a failed one would block its key for ever.
 */
import { PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { type Database, sqlState, type Transaction } from './database.ts'
import { statement } from './statement.ts'

/** How attempts follow one another: the pause doubles, give or take, from the first to the longest. Whole seconds, at least one. */
export interface RetryPauses {
  readonly firstMs: number
  readonly longestMs: number
}

export interface DeliveryQueueOptions {
  readonly database: Database
  readonly log: Logger
  /** whether this process looks after the queue: claims of dead processes, old entries */
  readonly supervise: boolean
  readonly pauses: RetryPauses
}

/** A delivery to be made. */
export interface QueuedDelivery {
  readonly delivery: string
  /** deliveries of one key follow one another, the next when the one before has ended */
  readonly key: string
  /** deliveries of one group share its few claims */
  readonly group: string
}

/** A claim: held until it is settled, or taken over when it is older than `claimMs`. */
export interface DeliveryClaim {
  readonly id: string
  readonly retryCount: number
  readonly delivery: string
  readonly group: string
}

export interface DeliveryQueue {
  /** Enters first deliveries, in their order; one entered before is left as it is. */
  enter(tx: Transaction, deliveries: readonly QueuedDelivery[]): Promise<void>
  /** Enters deliveries behind whatever their keys hold, due after so many seconds: repeats, and what came too early. */
  enterAgain(tx: Transaction, deliveries: readonly QueuedDelivery[], afterSeconds: number): Promise<void>
  /**
   * Claims deliveries that are due, at most `limit`, for each group no more than `perGroup` at a time over all processes, and none of
   * the groups ignored.
   */
  claim(limit: number, perGroup: number, ignored?: readonly string[]): Promise<DeliveryClaim[]>
  /** Ends claims: `done` for good, `again` to be due after the next pause. What was taken over meanwhile is left alone. */
  settle(tx: Transaction, done: readonly DeliveryClaim[], again: readonly DeliveryClaim[]): Promise<void>
  /** Makes what waits for its next attempt under the key due at once. */
  hasten(tx: Transaction, key: string): Promise<void>
  /** Takes claims of dead processes back; the queue does so by itself where it supervises. */
  recover(): Promise<void>
  /** Ends the looking after; entering and claiming are over. Idempotent. */
  stop(): Promise<void>
}

/** A claim older than this belongs to a dead process. */
const DELIVERY_CLAIM_MS = 60_000

/** The channel that wakes whoever claims. */
export const DELIVERY_CHANNEL = 'delivery_entered'

const queueName = 'deliveries'
const schema = 'pgboss'
/** Any number that nobody else takes as an advisory lock, beside that of the migrations. */
const lockNumber = 376_838
const superviseSeconds = 15
const keepCompletedSeconds = 3_600
/** Giving up is decided by the clock, never by a count. */
const retriesWithoutEnd = 1_000_000

const lock = statement<unknown, [number]>('delivery_queue_lock', 'select pg_advisory_xact_lock($1)')
const announce = statement<unknown, []>('delivery_queue_announce', `select pg_notify('${DELIVERY_CHANNEL}', '')`)

/**
 * Before the server has counted a table that has just grown, it plans a claim as loops within loops: 20,000 entries took longer than 30
 * seconds. Without them it is 45 ms, and 12 ms where the only group is busy.
 */
const withoutNestedLoops = statement<unknown, []>(
  'delivery_queue_without_nested_loops',
  `select set_config('enable_nestloop', 'off', true)`,
)

/** What pg-boss takes as its database, within a transaction or without one. */
type QueueDatabase = Pick<Database, 'executeSql'>

/** pg-boss counts in numbers: our int8 would not go through its JSON. */
function withPlainNumbers(db: QueueDatabase): QueueDatabase {
  return { executeSql: async (text, values) => ({ rows: (await db.executeSql(text, values)).rows.map(plainNumbers) }) }
}

/** Tells of errors that pg-boss keeps to itself. */
function noticing(db: QueueDatabase, onError: (error: unknown) => void): QueueDatabase {
  return {
    executeSql: (text, values) =>
      db.executeSql(text, values).catch((error: unknown) => {
        onError(error)
        throw error
      }),
  }
}

function plainNumbers(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
  )
}

/**
 * Opens the queue, making its schema where it is missing, once even when many processes start together. Fails as the database
 * does.
 */
export async function openDeliveryQueue({
  database,
  log,
  supervise,
  pauses,
}: DeliveryQueueOptions): Promise<DeliveryQueue> {
  const boss = new PgBoss({
    db: withPlainNumbers(database),
    schema,
    supervise,
    schedule: false,
    superviseIntervalSeconds: superviseSeconds,
    monitorIntervalSeconds: superviseSeconds,
    maintenanceIntervalSeconds: keepCompletedSeconds,
  })
  boss.on('error', error => log.warn({ err: error }, 'the queue of deliveries met an error'))
  boss.on('warning', warning => log.warn({ warning }, 'the queue of deliveries warns'))
  try {
    await database.transaction(async tx => {
      await tx.run(lock, [lockNumber])
      await boss.start()
      if ((await boss.getQueue(queueName)) === null) {
        await boss.createQueue(queueName, {
          policy: 'key_strict_fifo',
          expireInSeconds: DELIVERY_CLAIM_MS / 1_000,
          deleteAfterSeconds: keepCompletedSeconds,
          retentionSeconds: 30 * 86_400,
        })
      }
    })
  } catch (error) {
    await boss.stop({ graceful: false })
    throw error
  }

  const retrySeconds = {
    retryLimit: retriesWithoutEnd,
    retryBackoff: true,
    retryDelay: Math.max(1, Math.round(pauses.firstMs / 1_000)),
    retryDelayMax: Math.max(1, Math.round(pauses.longestMs / 1_000)),
  }

  async function insert(
    tx: Transaction,
    deliveries: readonly QueuedDelivery[],
    own: (delivery: QueuedDelivery) => { id: string } | { startAfter: number },
  ): Promise<void> {
    if (deliveries.length === 0) return
    const entries = deliveries.map(each => ({
      ...own(each),
      data: { delivery: each.delivery },
      singletonKey: each.key,
      group: { id: each.group },
      ...retrySeconds,
    }))
    await boss.insert(queueName, entries, { db: withPlainNumbers(tx) })
    await tx.run(announce, [])
  }

  const attempt = ({ id, retryCount }: DeliveryClaim) => ({ id, retryCount })

  return {
    enter: (tx, deliveries) => insert(tx, deliveries, ({ delivery }) => ({ id: delivery })),
    enterAgain: (tx, deliveries, afterSeconds) => insert(tx, deliveries, () => ({ startAfter: afterSeconds })),
    async claim(limit, perGroup, ignored = []) {
      let overtaken = false
      const fetch = (tx: Transaction) =>
        boss.fetch<{ delivery: string }>(queueName, {
          batchSize: limit,
          groupConcurrency: perGroup,
          ignoreGroups: [...ignored],
          db: noticing(withPlainNumbers(tx), error => {
            overtaken = sqlState(error) === '23505'
          }),
        })
      try {
        const found = await database.transaction(async tx => {
          await tx.run(withoutNestedLoops, [])
          return fetch(tx)
        })
        return found.map(({ id, retryCount, data, groupId }) => ({
          id,
          retryCount,
          delivery: data.delivery,
          group: groupId ?? '',
        }))
      } catch (error) {
        // Another process took an entry of the same key a moment ago.
        if (overtaken) return []
        throw error
      }
    },
    async settle(tx, done, again) {
      const db = withPlainNumbers(tx)
      if (done.length > 0) await boss.complete(queueName, done.map(attempt), null, { db })
      if (again.length > 0) await boss.fail(queueName, again.map(attempt), null, { db })
    },
    async hasten(tx, key) {
      await boss.update(queueName, undefined, {
        singletonKey: key,
        match: 'all',
        startAfter: 0,
        db: withPlainNumbers(tx),
      })
      await tx.run(announce, [])
    },
    recover: () => boss.supervise(queueName),
    stop: () => boss.stop({ graceful: false }),
  }
}
