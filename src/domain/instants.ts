/**
 * Instants and times of day as clients write them, and as the service writes them back. It holds no calendar rules and
 * never asks what time it is.
 */

/** A moment as milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number

export const secondMs = 1_000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs
export const weekMs = 7 * dayMs

/** The longest delay a schedule may hold: ten years. */
export const longestDelayMs = 3_653 * dayMs

/** Days of the week as the interface spells them, in calendar order. */
export const weekdays = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const
export type Weekday = (typeof weekdays)[number]

/** A local midnight that begins a Monday: the origin from which weeks are counted. */
export const mondayAt: Instant = Date.UTC(1970, 0, 5)

const earliestAt = Date.UTC(1970, 0, 1)
const latestAt = Date.UTC(2200, 0, 1)

const timestamp = /^(\d{4})-(\d\d)-(\d\d)[Tt](.+)$/
const timeOfDay = /^(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?$/

/** A time of day: milliseconds since midnight, and the distance of its clock from UTC, null where none was written. */
export type TimeOfDay = { readonly sinceMidnightMs: number; readonly offsetMs: number | null }

/**
 * Reads `hh:mm:ss`, with `Z`, an offset or neither behind it, and fractions of a second down to milliseconds.
 * Undefined for anything else. Serves: Schedule (job) window times, Task pattern times.
 */
export function readTimeOfDay(text: string): TimeOfDay | undefined {
  const match = timeOfDay.exec(text)
  if (match === null) return undefined
  const [hours, minutes, seconds] = [Number(match[1]), Number(match[2]), Number(match[3])]
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined
  const fractionMs = Number((match[4] ?? '').padEnd(3, '0').slice(0, 3))
  const sinceMidnightMs = hours * hourMs + minutes * minuteMs + seconds * secondMs + fractionMs
  if (match[5] !== undefined) return { sinceMidnightMs, offsetMs: 0 }
  if (match[6] === undefined) return { sinceMidnightMs, offsetMs: null }
  const [offsetHours, offsetMinutes] = [Number(match[7]), Number(match[8] ?? 0)]
  if (offsetHours > 23 || offsetMinutes > 59) return undefined
  const distanceMs = offsetHours * hourMs + offsetMinutes * minuteMs
  return { sinceMidnightMs, offsetMs: match[6] === '-' && distanceMs > 0 ? -distanceMs : distanceMs }
}

/**
 * Reads an ISO-8601 timestamp from 1970 to 2199, with any offset; without one it is UTC, as the interface's timestamps
 * are. Undefined for anything else, also for days that no calendar has. Serves: Schedule (job) and Task dates.
 */
export function readInstant(text: string): { readonly at: Instant; readonly time: TimeOfDay } | undefined {
  const match = timestamp.exec(text)
  const time = match?.[4] === undefined ? undefined : readTimeOfDay(match[4])
  if (match === null || time === undefined) return undefined
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month - 1)) return undefined
  const at = Date.UTC(year, month - 1, day) + time.sinceMidnightMs - (time.offsetMs ?? 0)
  return at >= earliestAt && at < latestAt ? { at, time } : undefined
}

/** The instant as the service writes it: UTC, milliseconds, `Z`. */
export function writeInstant(at: Instant): string {
  return new Date(at).toISOString()
}

/** How many days the month has; `month` counts from 0. */
export function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
}

/** `hh:mm:ss` and the offset, as the service writes a time of day back; fractions only where there are any. */
export function writeTimeOfDay({ sinceMidnightMs, offsetMs }: TimeOfDay): string {
  const clock = new Date(sinceMidnightMs).toISOString().slice(11, 23).replace('.000', '')
  if (offsetMs === null) return clock
  if (offsetMs === 0) return `${clock}Z`
  const distance = new Date(Math.abs(offsetMs)).toISOString().slice(11, 16)
  return `${clock}${offsetMs < 0 ? '-' : '+'}${distance}`
}
