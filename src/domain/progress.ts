/**
 * How far a job was to be and when it may be expected to end, as arithmetic on its launching and on what has ended so far. It promises
 * nothing: devices decide. Refuses to know operations one by one.
 */
import type { Instant } from './instants.ts'
import { FINAL_JOB_STATUSES, type JobStatus } from './job.ts'
import { type Launching, placeReachedAt } from './launching.ts'

/** What is known of a job that runs or will. */
export interface Pace {
  readonly status: JobStatus
  readonly launching: Launching | null
  readonly stopAt: Instant | null
  readonly endedAt: Instant | null
  /** operations not ended */
  readonly open: number
  /** the mean time from launch to end of what has ended; null where nothing has */
  readonly meanMs: number | null
  /** operations ended per millisecond lately; 0 where nothing has */
  readonly endedPerMs: number
}

/**
 * When the job is expected to end: at the pace at which its operations have ended lately, not before its last launch, and not after its
 * stop. Null where it waits for a person, or where nothing has ended yet that a pace could be read from and no stop bounds it.
 */
export function expectedEnd(pace: Pace, now: Instant): Instant | null {
  const { status, launching, stopAt, endedAt, open, meanMs, endedPerMs } = pace
  if (FINAL_JOB_STATUSES.some(each => each === status)) return endedAt
  if (status === 'IDLE' || status === 'PAUSED') return null
  const lastLaunchAt = launching && launching.places > 0 ? placeReachedAt(launching, launching.places - 1) : null
  const byPlan = lastLaunchAt === null || meanMs === null ? null : lastLaunchAt + meanMs
  const byPace = endedPerMs > 0 ? now + open / endedPerMs : null
  // Where launches are spread, the plan says when the last one is; the pace of now does not.
  const isSpread = launching !== null && launching.spreadMs > 0 && lastLaunchAt !== null && lastLaunchAt > now
  const expected = isSpread ? byPlan : byPace
  if (expected === null) return stopAt
  const notPast = Math.max(expected, now)
  return Math.round(stopAt === null ? notPast : Math.min(notPast, stopAt))
}

/** How many operations the schedule launches by an instant. */
export function plannedBy(launching: Launching, at: Instant): number {
  let low = 0
  let high = launching.places
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (placeReachedAt(launching, middle) <= at) low = middle + 1
    else high = middle
  }
  return low
}
