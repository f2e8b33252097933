/**
 * Keeps the house: makes months ahead, lets old ones go as configured, and forgets what was kept for a while only. Refuses to touch
 * anything that is open.
 */
import type { Logger } from 'pino'
import { monthOf } from '../domain/months.ts'
import type { Database } from '../store/database.ts'
import { forgetDeliveries } from '../store/deliveries.ts'
import { forgetFiledMessages } from '../store/filed-messages.ts'
import { forgetIdempotent } from '../store/idempotency.ts'
import { CHANGES_KEPT_MS, forgetJobChanges } from '../store/job-changes.ts'
import { forgetRestedLogins } from '../store/login-budget.ts'
import { addMonth, mayDoChores, partitionedMonths } from '../store/months.ts'
import { endSilentCalls } from '../store/presence.ts'
import { oneByOne } from './one-by-one.ts'
import { letGoBefore } from './retention.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const KEYS_KEPT_MS = DAY_MS
const MESSAGES_KEPT_MS = 30 * DAY_MS
const ROWS_PER_CHUNK = 10_000
const CALLS_PER_CHUNK = 5_000
/** How many months beside the present one are ready before they come. */
const MONTHS_AHEAD = 2

/** Makes the present month and those ahead; to be called before anything can end in them. */
export async function readyMonths(database: Database, now: Date): Promise<void> {
  const ready = new Set(await partitionedMonths(database))
  for (let away = 0; away <= MONTHS_AHEAD; away += 1) {
    const month = monthOf(now, away)
    if (!ready.has(month.name)) await addMonth(database, month)
  }
}

/** How long is kept what goes by itself. */
export interface Retention {
  /** of operations and all that hangs on them; null keeps them for ever */
  readonly retentionMonths: number | null
  readonly deliveryRetentionMs: number
  /** of calls of devices through a broker that tells nobody who is connected, since they were last heard there */
  readonly callMs: number
}

/** One turn, every minute. A chore that fails keeps no other from being done; the turn fails once all had theirs. */
export function createHousekeeping(
  database: Database,
  { retentionMonths, deliveryRetentionMs, callMs }: Retention,
  log: Logger,
): (now: Date, signal: AbortSignal) => Promise<Date> {
  return async (now, signal) => {
    const before = (ms: number) => new Date(now.getTime() - ms)
    const inChunks = async (limit: number, take: (limit: number) => Promise<number>) => {
      for (let gone = limit; gone === limit && !signal.aborted; ) gone = await take(limit)
    }
    const chores: Readonly<Record<string, () => Promise<unknown>>> = {
      months: () => readyMonths(database, now),
      jobChanges: () => inChunks(ROWS_PER_CHUNK, limit => forgetJobChanges(database, before(CHANGES_KEPT_MS), limit)),
      idempotencyKeys: () => inChunks(ROWS_PER_CHUNK, limit => forgetIdempotent(database, before(KEYS_KEPT_MS), limit)),
      logins: () => forgetRestedLogins(database, now),
      filedMessages: () =>
        inChunks(ROWS_PER_CHUNK, limit => forgetFiledMessages(database, before(MESSAGES_KEPT_MS), limit)),
      deliveries: () =>
        inChunks(ROWS_PER_CHUNK, limit => forgetDeliveries(database, before(deliveryRetentionMs), limit)),
      calls: () => inChunks(CALLS_PER_CHUNK, limit => endSilentCalls(database, before(callMs), now, limit)),
      retention: async () => {
        if (retentionMonths !== null) await letGoBefore(database, monthOf(now, -retentionMonths))
      },
    }
    if (await database.transaction(mayDoChores)) {
      await oneByOne(Object.entries(chores), signal, async ([chore, work]) => {
        await work().catch((error: unknown) => {
          log.error({ err: error, chore }, 'a chore failed; it is tried again with the next turn')
          throw error
        })
      })
    }
    return new Date(now.getTime() + MINUTE_MS)
  }
}
