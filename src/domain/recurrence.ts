/**
 * When a task's jobs are due: its occurrences, as arithmetic on its schedule. It holds no state of a task and makes no job.
 * Patterns keep the offset of their `time`: they know no summer time, as the interface gives them none.
 */
import { dayMs, daysInMonth, type Instant } from './instants.ts'
import type { Problem } from './problems.ts'
import type { Schedule } from './schedule.ts'
import type { Repeating, TaskSchedule } from './task-schedule.ts'

/**
 * The first occurrence after `after`, or at it where `inclusive`; null where there is none, or none before the stop: an
 * occurrence at the very instant of the stop no longer takes place. Executions used up are for the caller to count.
 */
export function nextOccurrence(schedule: TaskSchedule, after: Instant, inclusive: boolean): Instant | null {
  // Instants are whole milliseconds: after one is from the next one on.
  const from = Math.max(schedule.startAt, inclusive ? after : after + 1)
  const at = firstFrom(schedule, from)
  return at !== null && schedule.stop?.kind === 'date' && at >= schedule.stop.at ? null : at
}

/**
 * The occurrence of the first job that a task gets at `now`, when it is created or its schedule replaced: none before
 * now. A task that does not repeat and whose start is past is due at once, as a job would be.
 */
export function firstOccurrence(schedule: TaskSchedule, now: Instant): Instant | null {
  if (schedule.repeating !== null || schedule.startAt > now) return nextOccurrence(schedule, now, true)
  return schedule.stop?.kind === 'date' && now >= schedule.stop.at ? null : now
}

/** Whether no more job is due because the stop has passed or the executions are used up. Serves: Task state FINISHED. */
export function isUsedUp({ stop, repeating }: TaskSchedule, executions: number, now: Instant): boolean {
  if (stop?.kind === 'date' && now >= stop.at) return true
  if (stop?.kind === 'executions' && executions >= stop.executions) return true
  return repeating === null && executions >= 1
}

/** The least milliseconds that ever lie between two occurrences; infinite for a schedule that does not repeat. */
export function shortestGap({ repeating }: TaskSchedule): number {
  if (repeating === null) return Number.POSITIVE_INFINITY
  if (repeating.kind === 'period') return repeating.everyMs
  const days = repeating.kind === 'weekly' ? daysOfTwoWeeks(repeating) : daysOfTwelveYears(repeating)
  const gaps = days.slice(1).map((day, index) => day - days[index]!)
  return Math.min(...gaps) * dayMs
}

/**
 * The problems of a job whose stop, or whose start, is not sooner than the next run of its task: such a stop would let each run into the
 * next, and with such a start each would be over before it began. Serves: Task.
 */
export function jobDelaysTooLong(schedule: TaskSchedule, { start, stop }: Schedule): Problem[] {
  const gapMs = shortestGap(schedule)
  return Object.entries({ start, stop }).flatMap(([name, moment]): Problem[] => {
    if (moment?.kind !== 'delayed' || moment.delayMs < gapMs) return []
    const path = `task.job.request.schedule.${name}.delayed`
    return [{ path, message: `must be less than the ${gapMs} ms between two runs of the task`, kind: 'invalid' }]
  })
}

/** What becomes of a waiting job that is found due: does it run, how many occurrences are lost, when is the next. */
export type Due = { readonly run: boolean; readonly skipped: number; readonly nextAt: Instant | null }

/**
 * Judges at `now` the waiting job of the occurrence `waitingAt`. Missed by less than a period (of a pattern: before its
 * next occurrence) it runs, once. Missed by more, as after an outage, it does not: its own occurrence and all others
 * before `now` are skipped, and the job waits for `nextAt`, which may be now. Not due yet: nothing happens.
 */
export function missed(schedule: TaskSchedule, waitingAt: Instant, now: Instant): Due {
  if (waitingAt > now) return { run: false, skipped: 0, nextAt: waitingAt }
  const followingAt = firstFrom(schedule, Math.max(schedule.startAt, waitingAt + 1))
  if (followingAt === null || followingAt > now) {
    return { run: true, skipped: 0, nextAt: nextOccurrence(schedule, waitingAt, false) }
  }
  return { run: false, skipped: countFrom(schedule, waitingAt, now), nextAt: nextOccurrence(schedule, now, true) }
}

/** Occurrences from `from` (included) to `to` (excluded), those at or after the stop left out. */
function countFrom(schedule: TaskSchedule, from: Instant, to: Instant): number {
  const end = schedule.stop?.kind === 'date' ? Math.min(to, schedule.stop.at) : to
  const { repeating } = schedule
  if (repeating?.kind === 'period') return Math.max(0, Math.ceil((end - from) / repeating.everyMs))
  let count = 0
  for (let at: Instant | null = from; at !== null && at < end; at = firstFrom(schedule, at + 1)) count += 1
  return count
}

/** The first occurrence at or after `from`, which is not before the start, whatever the stop says. */
function firstFrom({ startAt, repeating }: TaskSchedule, from: Instant): Instant | null {
  if (repeating === null) return from <= startAt ? startAt : null
  if (repeating.kind === 'period') {
    return startAt + Math.ceil((from - startAt) / repeating.everyMs) * repeating.everyMs
  }
  const sinceUtcMidnightMs = repeating.time.sinceMidnightMs - repeating.time.offsetMs
  // The first day, on the pattern's clock, whose occurrence would not lie before `from`.
  const day = Math.ceil((from - sinceUtcMidnightMs) / dayMs)
  const found = repeating.kind === 'weekly' ? firstWeekday(repeating, day) : firstMonthDay(repeating, day)
  return found === null ? null : found * dayMs + sinceUtcMidnightMs
}

type Weekly = Extract<Repeating, { kind: 'weekly' }>
type Monthly = Extract<Repeating, { kind: 'monthly' }>

/** Days are counted from 1970-01-01, a Thursday. */
function firstWeekday({ days }: Weekly, from: number): number {
  const weekday = (((from + 3) % 7) + 7) % 7
  return from + Math.min(...days.map(day => (day - weekday + 7) % 7))
}

function firstMonthDay({ day, months }: Monthly, from: number): number | null {
  const date = new Date(from * dayMs)
  // A 29 February may be eight years away, around a year such as 2100.
  for (let month = date.getUTCMonth(); month <= date.getUTCMonth() + 12 * 9; month += 1) {
    if (!months.includes(month % 12) || day > daysInMonth(date.getUTCFullYear(), month)) continue
    const found = Date.UTC(date.getUTCFullYear(), month, day) / dayMs
    if (found >= from) return found
  }
  return null
}

function daysOfTwoWeeks(weekly: Weekly): number[] {
  return Array.from({ length: 14 }, (_, day) => day).filter(day => firstWeekday(weekly, day) === day)
}

/** Long enough to hold each distance between two years of either length, and a pair of 29 February. */
function daysOfTwelveYears({ day, months }: Monthly): number[] {
  const found: number[] = []
  for (let month = 0; month < 12 * 12; month += 1) {
    if (months.includes(month % 12) && day <= daysInMonth(2000, month)) found.push(Date.UTC(2000, month, day) / dayMs)
  }
  return found
}
