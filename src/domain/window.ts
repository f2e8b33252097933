/**
 * The window of a job: when requests may reach devices. It is open whenever the clock it is written for says so, which
 * settles summer time by itself: an hour that the clock skips is not there, an hour that it shows twice is open twice.
 * It knows nothing of jobs; an undefined window is always open.
 */
import { dayMs, hourMs, type Instant, readTimeOfDay, type Weekday, weekdays, weekMs } from './instants.ts'
import { type Parsed, type Problem, parsed } from './problems.ts'
import { isAbsent, readMembers, readWords } from './reading.ts'
import { firstClosed, firstOpen, isOpenAt, localAfter, openTimeUntil, type Week, weekOf } from './week.ts'
import { findZone, type Stretch, stretchAt } from './zones.ts'

/** A window as it is read back: always the form with `weekly`. */
export type WindowSource = {
  readonly weekly: readonly {
    readonly days?: readonly Weekday[]
    readonly daily: { readonly start: string; readonly stop: string }
  }[]
  readonly timezone?: string
}

/** A window read: its open week on the clock of `zone`, null being UTC, and the form in which it is read back. */
export type Window = { readonly source: WindowSource; readonly zone: string | null; readonly week: Week }

/** A run of time during which the window is open, from `opensAt` (included) to `closesAt` (excluded). */
export type Occurrence = { readonly opensAt: Instant; readonly closesAt: Instant }

/** More entries than any week needs, few enough to look through. */
const mostEntries = 50

type Entry = WindowSource['weekly'][number]
type Span = { readonly opens: number; readonly lengthMs: number }

/**
 * Reads `{weekly:[{days?,daily:{start,stop}}],timezone?}`, or `{days?,start,stop,timezone?}` as one entry. Times carry
 * `Z` or an offset, or are those of `timezone`; `days` are those on which the window opens, on the clock of its start;
 * a stop at or before the start belongs to the next day; equal times are 24 hours. Refuses a length that is not a
 * whole number of hours. Overlapping entries count once. Serves: Schedule (job).
 */
export function parseWindow(json: unknown, path = 'window'): Parsed<Window> {
  const problems: Problem[] = []
  const flat = typeof json === 'object' && json !== null && !('weekly' in json)
  const members = readMembers(
    json,
    path,
    flat ? ['days', 'start', 'stop', 'timezone'] : ['weekly', 'timezone'],
    problems,
  )
  if (members === undefined) return parsed<Window>(undefined, problems)
  const zone = readZone(members.timezone, `${path}.timezone`, problems)
  const entries = flat
    ? [readEntry(members, members, zone, path, path, problems)]
    : readWeekly(members.weekly, zone, `${path}.weekly`, problems)
  if (problems.length > 0 || zone === undefined) return parsed<Window>(undefined, problems)
  const read = entries.filter(entry => entry !== undefined)
  const source = {
    weekly: read.map(({ entry }) => entry),
    ...(zone === null ? {} : { timezone: zone }),
  }
  return parsed({ source, zone, week: weekOf(read.flatMap(({ spans }) => spans)) }, problems)
}

function readZone(json: unknown, path: string, problems: Problem[]): string | null | undefined {
  if (isAbsent(json)) return null
  const zone = typeof json === 'string' ? findZone(json) : undefined
  if (zone === undefined) {
    problems.push({ path, message: 'must be an IANA time zone such as Europe/Madrid', kind: 'invalid' })
  }
  return zone
}

function readWeekly(json: unknown, zone: string | null | undefined, path: string, problems: Problem[]) {
  if (!Array.isArray(json) || json.length === 0 || json.length > mostEntries) {
    problems.push({ path, message: `must be an array of 1 to ${mostEntries} entries`, kind: 'invalid' })
    return []
  }
  return json.map((item, index) => {
    const entryPath = `${path}[${index}]`
    const members = readMembers(item, entryPath, ['days', 'daily'], problems)
    if (members === undefined) return undefined
    const daily = readMembers(members.daily, `${entryPath}.daily`, ['start', 'stop'], problems)
    return daily && readEntry(members, daily, zone, entryPath, `${entryPath}.daily`, problems)
  })
}

function readEntry(
  { days: daysJson }: Readonly<Record<string, unknown>>,
  { start, stop }: Readonly<Record<string, unknown>>,
  zone: string | null | undefined,
  path: string,
  timesPath: string,
  problems: Problem[],
): { readonly entry: Entry; readonly spans: readonly Span[] } | undefined {
  const days = isAbsent(daysJson) ? weekdays : readWords(daysJson, `${path}.days`, weekdays, problems)
  const from = readClock(start, zone, `${timesPath}.start`, problems)
  const to = readClock(stop, zone, `${timesPath}.stop`, problems)
  if (days === undefined || from === undefined || to === undefined) return undefined
  const betweenMs = to.local - to.offsetMs - (from.local - from.offsetMs)
  const lengthMs = ((betweenMs % dayMs) + dayMs) % dayMs || dayMs
  if (lengthMs % hourMs !== 0) {
    problems.push({
      path: `${timesPath}.stop`,
      message: 'must lie a whole number of hours after the start',
      kind: 'invalid',
    })
    return undefined
  }
  return {
    entry: { ...(isAbsent(daysJson) ? {} : { days }), daily: { start: from.text, stop: to.text } },
    spans: days.map(day => ({ opens: weekdays.indexOf(day) * dayMs + from.local - from.offsetMs, lengthMs })),
  }
}

/** With a zone, times are local to it: `Z`, which the interface's form asks for, is then mere form. */
function readClock(json: unknown, zone: string | null | undefined, path: string, problems: Problem[]) {
  if (isAbsent(json)) {
    problems.push({ path, message: 'is required', kind: 'missing' })
    return undefined
  }
  const time = typeof json === 'string' ? readTimeOfDay(json) : undefined
  if (typeof json !== 'string' || time === undefined) {
    problems.push({ path, message: 'must be a time of day such as 22:00:00Z or 22:00:00+02:00', kind: 'invalid' })
    return undefined
  }
  if (zone === null && time.offsetMs === null) {
    problems.push({ path, message: 'must end in Z or an offset where the window has no timezone', kind: 'invalid' })
    return undefined
  }
  if (typeof zone === 'string' && time.offsetMs !== null && !/[Zz]$/.test(json)) {
    problems.push({ path, message: 'must not carry an offset where the window has a timezone', kind: 'invalid' })
    return undefined
  }
  return { text: json, local: time.sinceMidnightMs, offsetMs: time.offsetMs ?? 0 }
}

/** Whether requests may reach devices at this instant. */
export function isOpen(window: Window | undefined, at: Instant): boolean {
  return window === undefined || isOpenAt(window.week, at + stretchAt(window.zone, at).offsetMs)
}

/** The first open instant at or after `at`: `at` itself while the window is open. */
export function nextOpening(window: Window | undefined, at: Instant): Instant {
  return window === undefined ? at : firstInstant(window, at, local => firstOpen(window.week, local))
}

/** The first closed instant at or after `at`: `at` itself while the window is closed, null where it never closes. */
export function nextClosing(window: Window | undefined, at: Instant): Instant | null {
  if (window === undefined || window.week.openMs === weekMs) return null
  return firstInstant(window, at, local => firstClosed(window.week, local))
}

/** When the window opens next after the present opening, or after the present closure; null where it never closes. */
export function openingAfter(window: Window | undefined, at: Instant): Instant | null {
  const closesAt = nextClosing(window, at)
  return closesAt === null ? null : nextOpening(window, closesAt)
}

/** How many milliseconds of open time lie between the two instants; 0 where `to` is not after `from`. */
export function openTimeBetween(window: Window | undefined, from: Instant, to: Instant): number {
  if (to <= from) return 0
  if (window === undefined) return to - from
  let openMs = 0
  for (let at = from; at < to; ) {
    const stretch = stretchAt(window.zone, at)
    const end = Math.min(stretch.to, to)
    openMs += openTimeIn(window, stretch, at, end)
    at = end
  }
  return openMs
}

/**
 * The earliest instant at or after `from` by which `openMs` of open time have passed: the inverse of `openTimeBetween`.
 * It may be the very instant at which the window closes.
 */
export function advance(window: Window | undefined, from: Instant, openMs: number): Instant {
  if (openMs <= 0) return from
  if (window === undefined) return from + openMs
  let at = from
  let restMs = openMs
  for (;;) {
    const stretch = stretchAt(window.zone, at)
    const inStretchMs = stretch.to === Number.POSITIVE_INFINITY ? restMs : openTimeIn(window, stretch, at, stretch.to)
    if (restMs <= inStretchMs) {
      const passed = openTimeUntil(window.week, at + stretch.offsetMs)
      return localAfter(window.week, passed + restMs) - stretch.offsetMs
    }
    restMs -= inStretchMs
    at = stretch.to
  }
}

/** The open runs between the two instants, in order, apart from each other, cut off at `from` and at `to`. */
export function occurrences(window: Window | undefined, from: Instant, to: Instant): Occurrence[] {
  const runs: Occurrence[] = []
  for (let at = from; at < to; ) {
    const opensAt = nextOpening(window, at)
    if (opensAt >= to) break
    const closesAt = Math.min(nextClosing(window, opensAt) ?? to, to)
    runs.push({ opensAt, closesAt })
    at = closesAt
  }
  return runs
}

function openTimeIn(window: Window, { offsetMs }: Stretch, from: Instant, to: Instant): number {
  return openTimeUntil(window.week, to + offsetMs) - openTimeUntil(window.week, from + offsetMs)
}

/** The first instant that `find` names on the local clock; where the clock is changed before it, asked anew there. */
function firstInstant(window: Window, at: Instant, find: (local: number) => number): Instant {
  for (let from = at; ; ) {
    const stretch = stretchAt(window.zone, from)
    const candidate = find(from + stretch.offsetMs) - stretch.offsetMs
    if (candidate < stretch.to || stretch.to === Number.POSITIVE_INFINITY) return candidate
    from = stretch.to
  }
}
