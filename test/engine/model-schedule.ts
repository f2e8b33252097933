/**
 * What the schedule of a job allows at an instant, reckoned anew from the request and from when the job was activated and started, by
 * the whole hours of clocks: the model test holds launches to it. Refuses to use the engine's own arithmetic.
 */
import type { JobRequest, ScheduleMoment } from '../../src/domain/job.ts'

const HOUR_MS = 3_600_000
const LONGEST_OCCURRENCE_MS = 24 * HOUR_MS

const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] as const

/** A daily window of whole hours, of UTC or of a zone with summer time: the only kind that the model asks for. */
export interface DailyWindow {
  readonly timezone?: string
  readonly weekly: readonly [
    { readonly days?: readonly string[]; readonly daily: { readonly start: string; readonly stop: string } },
  ]
}

/** A job as far as its schedule goes. */
export interface ScheduledJob {
  readonly request: Pick<JobRequest, 'schedule' | 'operationParameters'>
  readonly activatedAt: Date | null
  readonly startedAt: Date | null
  /** as the service has planned it; of a run of a task that is what its task says */
  readonly startAt: Date | null
  readonly ofTask: boolean
}

const clocks = new Map<string, Intl.DateTimeFormat>()

/** The day of the week, from Sunday on, and the hour that clocks of a zone show at an instant. */
export function localHour(zone: string, at: number): { readonly day: number; readonly hour: number } {
  const clock =
    clocks.get(zone) ??
    new Intl.DateTimeFormat('en-US', { timeZone: zone, weekday: 'short', hour: 'numeric', hourCycle: 'h23' })
  clocks.set(zone, clock)
  const shown = new Map(clock.formatToParts(at).map(({ type, value }) => [type, value]))
  return { day: DAYS.indexOf(shown.get('weekday')!.toUpperCase() as 'SUN'), hour: Number(shown.get('hour')) }
}

/** Whether a window is open in the hour of an instant. Clocks are put forward and back by whole hours, at whole hours. */
function isOpenAt(window: unknown, at: number): boolean {
  if (window === undefined) return true
  const { timezone = 'UTC', weekly } = window as DailyWindow
  const { days = DAYS, daily } = weekly[0]
  const [from, to] = [Number(daily.start.slice(0, 2)), Number(daily.stop.slice(0, 2))]
  const { day, hour } = localHour(timezone, at)
  const opensOn = (which: number) => days.includes(DAYS[(which + 7) % 7]!)
  if (from < to) return hour >= from && hour < to && opensOn(day)
  return (hour >= from && opensOn(day)) || (hour < to && opensOn(day - 1))
}

const nextHour = (at: number) => (Math.floor(at / HOUR_MS) + 1) * HOUR_MS

function openMs(window: unknown, from: number, to: number): number {
  let sum = 0
  for (let at = from; at < to; at = nextHour(at)) {
    if (isOpenAt(window, at)) sum += Math.min(nextHour(at), to) - at
  }
  return sum
}

/** What is left of the window that is open at an instant, or all of the next one. */
function firstOccurrenceMs(window: unknown, from: number): number {
  let opens = from
  while (!isOpenAt(window, opens)) opens = nextHour(opens)
  let closes = opens
  while (isOpenAt(window, closes) && closes - opens < LONGEST_OCCURRENCE_MS) closes = nextHour(closes)
  return Math.min(closes - opens, LONGEST_OCCURRENCE_MS)
}

const momentAt = (moment: ScheduleMoment, from: Date) =>
  'date' in moment ? Date.parse(moment.date) : from.getTime() + moment.delayed

/** When a job may start at the earliest; null while it was not activated. */
export function earliestStart({ request, activatedAt, startAt, ofTask }: ScheduledJob): number | null {
  const { start } = request.schedule
  if (ofTask) return activatedAt === null ? null : (startAt?.getTime() ?? null)
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
    ...(isOpenAt(job.request.schedule.window, now) ? [] : ['outside the window']),
  ]
}

/** The open time over which the launches of a job that has started are spread. */
export function spreadOf(job: ScheduledJob): number {
  const { window, scattering } = job.request.schedule
  const { ackTimeout, timeout } = job.request.operationParameters
  const launchAt = job.startedAt!.getTime()
  const stop = stopOf(job)
  const withoutStop = window === undefined ? 0 : firstOccurrenceMs(window, launchAt)
  const effectiveMs = stop === null ? withoutStop : openMs(window, launchAt, stop)
  const { maxSpread = 0 } = (scattering ?? {}) as { maxSpread?: number }
  const reserveMs = Math.min(ackTimeout + timeout, effectiveMs / 2)
  return Math.floor(((effectiveMs - reserveMs) * maxSpread) / 100)
}

/** How many of the operations of a job that has started have come to their turn: operation k of N at spread × k/N of open time. */
export function placesDue(job: ScheduledJob, operations: number, now: number): number {
  const spreadMs = spreadOf(job)
  if (spreadMs <= 0) return operations
  const passedMs = openMs(job.request.schedule.window, job.startedAt!.getTime(), now)
  let due = 0
  while (due < operations && due * spreadMs <= passedMs * operations) due += 1
  return due
}

/** Whether the stop of a job is known, as it is asked for at an instant, to lie at or before its start. */
export function stopsTooEarly({ start, stop }: JobRequest['schedule'], now: number): boolean {
  if (stop === undefined) return false
  const from = start === undefined ? now : Math.max(now, momentAt(start, new Date(now)))
  return momentAt(stop, new Date(from)) <= from
}
