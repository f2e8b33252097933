/**
 * What the schedule of a job allows at an instant, reckoned anew from the request and from when the job was activated and started, by
 * whole hours of UTC: the model test holds launches to it. Refuses to use the engine's own arithmetic.
 */
import type { JobRequest, ScheduleMoment } from '../../src/domain/job.ts'

const HOUR_MS = 3_600_000
const LONGEST_OCCURRENCE_MS = 24 * HOUR_MS

/** A daily window of whole hours of UTC, the only kind that the model asks for. */
interface DailyWindow {
  readonly weekly: readonly [{ readonly daily: { readonly start: string; readonly stop: string } }]
}

/** A job as far as its schedule goes. */
export interface ScheduledJob {
  readonly request: Pick<JobRequest, 'schedule' | 'operationParameters'>
  readonly activatedAt: Date | null
  readonly startedAt: Date | null
}

function isOpenHour(window: unknown, hour: number): boolean {
  if (window === undefined) return true
  const { start, stop } = (window as DailyWindow).weekly[0].daily
  const [from, to] = [Number(start.slice(0, 2)), Number(stop.slice(0, 2))]
  return from < to ? hour >= from && hour < to : hour >= from || hour < to
}

const hourOf = (at: number) => Math.floor(at / HOUR_MS) % 24
const nextHour = (at: number) => (Math.floor(at / HOUR_MS) + 1) * HOUR_MS

function openMs(window: unknown, from: number, to: number): number {
  let sum = 0
  for (let at = from; at < to; at = nextHour(at)) {
    if (isOpenHour(window, hourOf(at))) sum += Math.min(nextHour(at), to) - at
  }
  return sum
}

/** What is left of the window that is open at an instant, or all of the next one. */
function firstOccurrenceMs(window: unknown, from: number): number {
  let opens = from
  while (!isOpenHour(window, hourOf(opens))) opens = nextHour(opens)
  let closes = opens
  while (isOpenHour(window, hourOf(closes)) && closes - opens < LONGEST_OCCURRENCE_MS) closes = nextHour(closes)
  return Math.min(closes - opens, LONGEST_OCCURRENCE_MS)
}

const momentAt = (moment: ScheduleMoment, from: Date) =>
  'date' in moment ? Date.parse(moment.date) : from.getTime() + moment.delayed

/** When a job may start at the earliest; null while it was not activated. */
export function earliestStart({ request, activatedAt }: ScheduledJob): number | null {
  const { start } = request.schedule
  if (activatedAt === null) return null
  return start === undefined ? activatedAt.getTime() : Math.max(activatedAt.getTime(), momentAt(start, activatedAt))
}

/** When a job that has started stops; null for never. */
export function stopOf({ request, startedAt }: ScheduledJob): number | null {
  const { stop } = request.schedule
  return stop === undefined || startedAt === null ? null : momentAt(stop, startedAt)
}

/** Why nothing of a job may be sent at an instant, for its schedule's sake; none where it may. */
export function scheduleForbids(job: ScheduledJob, now: number): string[] {
  const [start, stop] = [earliestStart(job), stopOf(job)]
  return [
    ...(start === null || now < start || job.startedAt === null ? ['before the start'] : []),
    ...(stop !== null && now >= stop ? ['after the stop'] : []),
    ...(isOpenHour(job.request.schedule.window, hourOf(now)) ? [] : ['outside the window']),
  ]
}

/** How many of the operations of a job that has started have come to their turn: operation k of N at spread × k/N of open time. */
export function placesDue(job: ScheduledJob, operations: number, now: number): number {
  const { window, scattering } = job.request.schedule
  const { ackTimeout, timeout } = job.request.operationParameters
  const launchAt = job.startedAt!.getTime()
  const stop = stopOf(job)
  const withoutStop = window === undefined ? 0 : firstOccurrenceMs(window, launchAt)
  const effectiveMs = stop === null ? withoutStop : openMs(window, launchAt, stop)
  const { maxSpread = 0 } = (scattering ?? {}) as { maxSpread?: number }
  const reserveMs = Math.min(ackTimeout + timeout, effectiveMs / 2)
  const spreadMs = Math.floor(((effectiveMs - reserveMs) * maxSpread) / 100)
  if (spreadMs <= 0) return operations
  const passedMs = openMs(window, launchAt, now)
  let due = 0
  while (due < operations && due * spreadMs <= passedMs * operations) due += 1
  return due
}
