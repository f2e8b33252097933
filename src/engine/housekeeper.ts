/**
 * Keeps the house: makes months ahead, lets old ones go as configured, and forgets what was kept for a while only. Refuses to touch
 * anything that is open.
 */
import { monthOf } from '../domain/months.ts'
import type { Database } from '../store/database.ts'
import { forgetDeliveries } from '../store/deliveries.ts'
import { forgetFiledMessages } from '../store/filed-messages.ts'
import { forgetIdempotent } from '../store/idempotency.ts'
import { CHANGES_KEPT_MS, forgetJobChanges } from '../store/job-changes.ts'
import { forgetRestedLogins } from '../store/login-budget.ts'
import { addMonth, mayDoChores, partitionedMonths } from '../store/months.ts'
import { endSilentCalls } from '../store/presence.ts'
import { letGoBefore } from './retention.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const KEYS_KEPT_MS = DAY_MS
const MESSAGES_KEPT_MS = 30 * DAY_MS
const DELIVERIES_PER_CHUNK = 10_000
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

/** One turn, every minute. */
export function createHousekeeping(
  database: Database,
  { retentionMonths, deliveryRetentionMs, callMs }: Retention,
): (now: Date) => Promise<Date> {
  return async now => {
    const before = (ms: number) => new Date(now.getTime() - ms)
    const mine = await database.transaction(async tx => {
      if (!(await mayDoChores(tx))) return false
      await forgetJobChanges(tx, before(CHANGES_KEPT_MS))
      await forgetIdempotent(tx, before(KEYS_KEPT_MS))
      await forgetRestedLogins(tx, now)
      await forgetFiledMessages(tx, before(MESSAGES_KEPT_MS))
      await forgetDeliveries(tx, before(deliveryRetentionMs), DELIVERIES_PER_CHUNK)
      return true
    })
    if (mine) {
      await readyMonths(database, now)
      for (let ended = CALLS_PER_CHUNK; ended === CALLS_PER_CHUNK; ) {
        ended = await endSilentCalls(database, before(callMs), now, CALLS_PER_CHUNK)
      }
      if (retentionMonths !== null) await letGoBefore(database, monthOf(now, -retentionMonths))
    }
    return new Date(now.getTime() + MINUTE_MS)
  }
}
