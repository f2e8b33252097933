/**
 * The schedule of a job: when it starts, when it stops, in which window and how scattered it launches. It reads and
 * answers; whether a job may start now is for the job's lifecycle to decide.
 */
import { type Instant, longestDelayMs, readInstant, writeInstant } from './instants.ts'
import { type Parsed, type Problem, parsed } from './problems.ts'
import { isAbsent, readMembers, readWhole } from './reading.ts'
import { parseScattering, type Scattering } from './scattering.ts'
import { parseWindow, type Window } from './window.ts'

/** A start or a stop: at an instant, or a span after what it is counted from. */
export type Moment =
  | { readonly kind: 'date'; readonly at: Instant }
  | { readonly kind: 'delayed'; readonly delayMs: number }

/** A job's schedule as read. `source` is the form in which it is read back: dates in UTC, numbers as numbers. */
export type Schedule = {
  readonly start: Moment | null
  readonly stop: Moment | null
  readonly window: Window | undefined
  readonly scattering: Scattering | undefined
  readonly source: {
    readonly start?: MomentSource
    readonly stop?: MomentSource
    readonly window?: Window['source']
    readonly scattering?: Scattering['source']
  }
}

type MomentSource = { readonly date: string } | { readonly delayed: number }

/** The schedule of a job that has none: it starts at once, never stops, is always open and as fast as possible. */
export const noSchedule: Schedule = { start: null, stop: null, window: undefined, scattering: undefined, source: {} }

/**
 * Reads a job's `schedule`; left out or null it is `noSchedule`. In a task's job request `dates` is false, and an exact
 * date is refused. A stop delayed by 0 would lie at the start and is refused. Serves: Schedule (job), Task.
 */
export function parseSchedule(json: unknown, { path = 'schedule', dates = true } = {}): Parsed<Schedule> {
  if (isAbsent(json)) return parsed(noSchedule, [])
  const problems: Problem[] = []
  const members = readMembers(json, path, ['start', 'stop', 'window', 'scattering'], problems)
  if (members === undefined) return parsed<Schedule>(undefined, problems)
  const start = readMoment(members.start, `${path}.start`, { dates, shortestMs: 0 }, problems)
  const stop = readMoment(members.stop, `${path}.stop`, { dates, shortestMs: 1 }, problems)
  const window = readBlock(members.window, `${path}.window`, parseWindow, problems)
  const scattering = readBlock(members.scattering, `${path}.scattering`, parseScattering, problems)
  const source = {
    ...(start && { start: writeMoment(start) }),
    ...(stop && { stop: writeMoment(stop) }),
    ...(window && { window: window.source }),
    ...(scattering && { scattering: scattering.source }),
  }
  return parsed({ start, stop, window, scattering, source }, problems)
}

function readBlock<T>(
  json: unknown,
  path: string,
  parse: (json: unknown, path: string) => Parsed<T>,
  problems: Problem[],
): T | undefined {
  if (isAbsent(json)) return undefined
  const read = parse(json, path)
  if (read.ok) return read.value
  problems.push(...read.problems)
  return undefined
}

function readMoment(
  json: unknown,
  path: string,
  { dates, shortestMs }: { readonly dates: boolean; readonly shortestMs: number },
  problems: Problem[],
): Moment | null {
  if (isAbsent(json)) return null
  const members = readMembers(json, path, ['date', 'delayed'], problems)
  if (members === undefined) return null
  const { date, delayed } = members
  if (isAbsent(date) === isAbsent(delayed)) {
    problems.push({ path, message: 'must hold exactly one of date and delayed', kind: 'invalid' })
    return null
  }
  if (isAbsent(date)) {
    const delayMs = readWhole(delayed, `${path}.delayed`, { min: shortestMs, max: longestDelayMs }, problems)
    return delayMs === undefined ? null : { kind: 'delayed', delayMs }
  }
  if (!dates) {
    problems.push({ path: `${path}.date`, message: 'is not valid in a task: use delayed', kind: 'invalid' })
    return null
  }
  const at = readDate(date, `${path}.date`, problems)
  return at === undefined ? null : { kind: 'date', at }
}

/** Reads a `date` member: an ISO-8601 timestamp from 1970 to 2199. Serves: Schedule (job), Task. */
export function readDate(json: unknown, path: string, problems: Problem[]): Instant | undefined {
  const read = typeof json === 'string' ? readInstant(json) : undefined
  if (read === undefined) {
    problems.push({
      path,
      message: 'must be an ISO-8601 timestamp from 1970 to 2199, such as 2030-01-02T03:04:05Z',
      kind: 'invalid',
    })
  }
  return read?.at
}

function writeMoment(moment: Moment): MomentSource {
  return moment.kind === 'date' ? { date: writeInstant(moment.at) } : { delayed: moment.delayMs }
}

/** When a job activated at this instant starts: never before its activation, also where its date is past. */
export function startAt({ start }: Schedule, activatedAt: Instant): Instant {
  if (start === null) return activatedAt
  return start.kind === 'date' ? Math.max(start.at, activatedAt) : activatedAt + start.delayMs
}

/** When a job started at this instant stops; null where it never does. Pauses do not defer it. */
export function stopAt({ stop }: Schedule, startedAt: Instant): Instant | null {
  if (stop === null) return null
  return stop.kind === 'date' ? stop.at : startedAt + stop.delayMs
}

/**
 * The problem of a stop known to lie at or before the start: asked at creation, PUT and activation, with the instant of
 * the call, before which no start can lie. Empty where there is none.
 */
export function stopBeforeStart(schedule: Schedule, now: Instant, path = 'schedule'): Problem[] {
  const earliestAt = startAt(schedule, now)
  const stopsAt = stopAt(schedule, earliestAt)
  if (stopsAt === null || stopsAt > earliestAt) return []
  return [
    {
      path: `${path}.stop`,
      message: `must lie after the start, which is not before ${writeInstant(earliestAt)}`,
      kind: 'invalid',
    },
  ]
}
