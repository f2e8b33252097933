/**
 * The schedule of a task as clients write it, and as it is read back. It only reads: what follows from a schedule is in
 * `recurrence.ts`.
 */
import {
  dayMs,
  daysInMonth,
  hourMs,
  type Instant,
  longestDelayMs,
  minuteMs,
  readInstant,
  readTimeOfDay,
  secondMs,
  type Weekday,
  weekdays,
  writeInstant,
  writeTimeOfDay,
} from './instants.ts'
import { type Parsed, type Problem, parsed } from './problems.ts'
import { isAbsent, type Members, readMembers, readWhole, readWord, readWords } from './reading.ts'
import { readDate } from './schedule.ts'

/** Months as the interface spells them, in calendar order. */
export const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'] as const
export type Month = (typeof months)[number]

/** Units of a period as the interface spells them; each is a fixed span, a day being 24 hours. */
const periodUnits = ['SECONDS', 'MINUTES', 'HOURS', 'DAYS'] as const
export type PeriodUnit = (typeof periodUnits)[number]

const unitMs: Readonly<Record<PeriodUnit, number>> = {
  SECONDS: secondMs,
  MINUTES: minuteMs,
  HOURS: hourMs,
  DAYS: dayMs,
}

const mostExecutions = 1_000_000_000

/** A time of day on a clock that stands `offsetMs` from UTC. */
export type PatternTime = { readonly sinceMidnightMs: number; readonly offsetMs: number }

/**
 * How a task repeats. A period counts from the start. A daily pattern is a weekly one with every day; a yearly one is a
 * monthly one. Days count from 0 for Monday, months from 0 for January, `day` from 1.
 */
export type Repeating =
  | { readonly kind: 'period'; readonly everyMs: number }
  | { readonly kind: 'weekly'; readonly time: PatternTime; readonly days: readonly number[] }
  | { readonly kind: 'monthly'; readonly time: PatternTime; readonly day: number; readonly months: readonly number[] }

/** A task's schedule as read; `source` is the form in which it is read back, and reads as the same schedule. */
export type TaskSchedule = {
  readonly startAt: Instant
  readonly stop:
    | { readonly kind: 'date'; readonly at: Instant }
    | { readonly kind: 'executions'; readonly executions: number }
    | null
  readonly repeating: Repeating | null
  readonly source: TaskScheduleSource
}

export type TaskScheduleSource = {
  readonly start: { readonly date: string }
  readonly stop?: { readonly date: string } | { readonly executions: number }
  readonly repeating?:
    | { readonly period: { readonly each: number; readonly unit: PeriodUnit } }
    | { readonly pattern: PatternSource }
}

type PatternSource = {
  readonly time: string
  readonly weekly?: { readonly days: readonly Weekday[] }
  readonly monthly?: { readonly day: number; readonly months: readonly Month[] }
  readonly yearly?: { readonly day: number; readonly month: Month; readonly months: readonly Month[] }
}

type Read<Value, Source> = { readonly value: Value; readonly source: Source }

/**
 * Reads a task's `schedule`. A start left out is `now`, and is written into `source`, so that a period keeps its grid. A
 * pattern without `time` takes the time of day of the start given, on the clock it was written for, or else
 * 00:00:00Z; that, too, is written into `source`. Serves: Task.
 */
export function parseTaskSchedule(json: unknown, now: Instant, path = 'task.schedule'): Parsed<TaskSchedule> {
  const problems: Problem[] = []
  const members = readMembers(json ?? {}, path, ['start', 'stop', 'repeating'], problems)
  if (members === undefined) return parsed<TaskSchedule>(undefined, problems)
  const start = readStart(members.start, now, `${path}.start`, problems)
  const stop = readStop(members.stop, `${path}.stop`, problems)
  const repeating = readRepeating(members.repeating, start.time, `${path}.repeating`, problems)
  const source = {
    start: { date: writeInstant(start.at) },
    ...(stop && { stop: stop.source }),
    ...(repeating && { repeating: repeating.source }),
  }
  return parsed({ startAt: start.at, stop: stop?.value ?? null, repeating: repeating?.value ?? null, source }, problems)
}

function readStart(json: unknown, now: Instant, path: string, problems: Problem[]) {
  const midnight: PatternTime = { sinceMidnightMs: 0, offsetMs: 0 }
  const members = isAbsent(json) ? undefined : readMembers(json, path, ['date'], problems)
  if (members === undefined || isAbsent(members.date)) return { at: now, time: midnight }
  const at = readDate(members.date, `${path}.date`, problems)
  const time = at === undefined ? undefined : readInstant(String(members.date))?.time
  return { at: at ?? now, time: time === undefined ? midnight : { ...time, offsetMs: time.offsetMs ?? 0 } }
}

function readStop(
  json: unknown,
  path: string,
  problems: Problem[],
): Read<NonNullable<TaskSchedule['stop']>, NonNullable<TaskScheduleSource['stop']>> | null {
  if (isAbsent(json)) return null
  const members = readMembers(json, path, ['date', 'executions'], problems)
  if (members === undefined || !exactlyOne(members, ['date', 'executions'], path, problems)) return null
  if (isAbsent(members.date)) {
    const limits = { min: 1, max: mostExecutions }
    const executions = readWhole(members.executions, `${path}.executions`, limits, problems)
    return executions === undefined ? null : { value: { kind: 'executions', executions }, source: { executions } }
  }
  const at = readDate(members.date, `${path}.date`, problems)
  return at === undefined ? null : { value: { kind: 'date', at }, source: { date: writeInstant(at) } }
}

function readRepeating(
  json: unknown,
  startTime: PatternTime,
  path: string,
  problems: Problem[],
): Read<Repeating, NonNullable<TaskScheduleSource['repeating']>> | null {
  if (isAbsent(json)) return null
  const members = readMembers(json, path, ['period', 'pattern'], problems)
  if (members === undefined || !exactlyOne(members, ['period', 'pattern'], path, problems)) return null
  if (isAbsent(members.period)) {
    const pattern = readPattern(members.pattern, startTime, `${path}.pattern`, problems)
    return pattern && { value: pattern.value, source: { pattern: pattern.source } }
  }
  const period = readMembers(members.period, `${path}.period`, ['each', 'unit'], problems)
  if (period === undefined) return null
  const unit = readWord(period.unit, `${path}.period.unit`, periodUnits, problems)
  const limits = { min: 1, max: Math.floor(longestDelayMs / unitMs[unit ?? 'SECONDS']) }
  const each = readWhole(period.each, `${path}.period.each`, limits, problems)
  if (unit === undefined || each === undefined) return null
  return { value: { kind: 'period', everyMs: each * unitMs[unit] }, source: { period: { each, unit } } }
}

function readPattern(
  json: unknown,
  startTime: PatternTime,
  path: string,
  problems: Problem[],
): Read<Repeating, PatternSource> | null {
  const members = readMembers(json, path, ['time', 'weekly', 'monthly', 'yearly'], problems)
  if (members === undefined) return null
  const given = (['weekly', 'monthly', 'yearly'] as const).filter(name => !isAbsent(members[name]))
  if (given.length > 1 || (given.length === 0 && isAbsent(members.time))) {
    const message = given.length > 1 ? 'must hold only one of' : 'must hold a time or one of'
    problems.push({ path, message: `${message} weekly, monthly and yearly`, kind: 'invalid' })
    return null
  }
  const time = readPatternTime(members.time, startTime, `${path}.time`, problems)
  const [name] = given
  if (name === undefined) {
    const everyDay = weekdays.map((_, day) => day)
    return time && { value: { kind: 'weekly', time: time.value, days: everyDay }, source: { time: time.source } }
  }
  const known = { weekly: ['days'], monthly: ['day', 'months'], yearly: ['day', 'months', 'month'] }[name]
  const inner = readMembers(members[name], `${path}.${name}`, known, problems)
  if (inner === undefined) return null
  if (name === 'weekly') {
    const days = readWords(inner.days, `${path}.weekly.days`, weekdays, problems)
    if (days === undefined || time === null) return null
    const value = { kind: name, time: time.value, days: days.map(day => weekdays.indexOf(day)) }
    return { value, source: { time: time.source, weekly: { days } } }
  }
  const dates = readDates(inner, `${path}.${name}`, problems)
  if (dates === undefined || time === null) return null
  const { day, months: words } = dates
  return {
    value: { kind: 'monthly', time: time.value, day, months: words.map(word => months.indexOf(word)) },
    source: {
      time: time.source,
      ...(name === 'monthly'
        ? { monthly: { day, months: words } }
        : { yearly: { day, month: dates.month, months: words } }),
    },
  }
}

function readPatternTime(
  json: unknown,
  startTime: PatternTime,
  path: string,
  problems: Problem[],
): Read<PatternTime, string> | null {
  if (isAbsent(json)) return { value: startTime, source: writeTimeOfDay(startTime) }
  const time = typeof json === 'string' ? readTimeOfDay(json) : undefined
  if (typeof json !== 'string' || time === undefined || time.offsetMs === null) {
    problems.push({
      path,
      message: 'must be a time of day with Z or an offset, such as 02:30:00+02:00',
      kind: 'invalid',
    })
    return null
  }
  return { value: { ...time, offsetMs: time.offsetMs }, source: json }
}

/** `day` with `months`, or with one `month`; both are read back, so both are accepted where they agree. */
function readDates({ day: dayJson, month, months: monthsJson }: Members, path: string, problems: Problem[]) {
  const day = readWhole(dayJson, `${path}.day`, { min: 1, max: 31 }, problems)
  const single = isAbsent(month) ? undefined : readWord(month, `${path}.month`, months, problems)
  const several =
    isAbsent(monthsJson) && !isAbsent(month)
      ? single && [single]
      : readWords(monthsJson, `${path}.months`, months, problems)
  if (day === undefined || several === undefined) return undefined
  if (single !== undefined && !several.includes(single)) {
    problems.push({ path: `${path}.month`, message: 'must be one of months where both are given', kind: 'invalid' })
  }
  if (several.every(word => day > daysInMonth(2000, months.indexOf(word)))) {
    problems.push({ path: `${path}.day`, message: `does not exist in ${several.join(', ')}`, kind: 'invalid' })
  }
  return { day, month: single ?? several[0]!, months: several }
}

function exactlyOne(members: Members, [one, other]: readonly [string, string], path: string, problems: Problem[]) {
  const ok = isAbsent(members[one]) !== isAbsent(members[other])
  if (!ok) problems.push({ path, message: `must hold exactly one of ${one} and ${other}`, kind: 'invalid' })
  return ok
}
