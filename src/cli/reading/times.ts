/** Instants, spans and windows as people write and read them: in the zone of their machine, or in UTC. */
import type { WindowSchema } from '../../contract/client/client.ts'
import { CommandFailed } from '../frame/exit-codes.ts'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SPAN = /^(\d+(\.\d+)?(ms|s|m|h|d))+$/
const ZONED = /(Z|[+-]\d{2}:?\d{2})$/i

/** Milliseconds in `90s`, `15m`, `1h30m`, `2d`; undefined for anything else. */
export function readSpan(text: string): number | undefined {
  if (!SPAN.test(text)) return undefined
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0))
}

/** The same; fails with a usage error that names the option. */
export function spanOf(option: string, text: string): number {
  const span = readSpan(text)
  if (span === undefined)
    throw new CommandFailed('usage', `${option} must be a time such as 90s, 15m, 1h30m or 2d, not "${text}".`)
  return span
}

/** An instant: `2026-03-02T22:00`, with or without an offset, or `22:00`, the next one. Without an offset it is local, or UTC if asked. */
export function readInstant(text: string, now: Date, utc: boolean): Date | undefined {
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text)
  if (clock) return nextClock(Number(clock[1]), Number(clock[2]), Number(clock[3] ?? 0), now, utc)
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) return undefined
  const whole = text.includes('T') ? text : text.replace(' ', 'T')
  const timed = whole.includes('T') ? whole : `${whole}T00:00`
  const at = new Date(utc && !ZONED.test(timed) ? `${timed}Z` : timed)
  return Number.isNaN(at.getTime()) ? undefined : at
}

function nextClock(hour: number, minute: number, second: number, now: Date, utc: boolean): Date | undefined {
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const at = new Date(now)
  if (utc) at.setUTCHours(hour, minute, second, 0)
  else at.setHours(hour, minute, second, 0)
  if (at > now) return at
  if (utc) at.setUTCDate(at.getUTCDate() + 1)
  else at.setDate(at.getDate() + 1)
  return at
}

/** A start or a stop: a span from then on, or an instant. Fails with a usage error that names the option. */
export function momentOf(
  option: string,
  text: string,
  now: Date,
  utc: boolean,
): { delayed: number } | { date: string } {
  const span = readSpan(text)
  if (span !== undefined) return { delayed: span }
  const at = readInstant(text, now, utc)
  if (at) return { date: at.toISOString() }
  throw new CommandFailed('usage', `${option} must be a time such as 2h, 22:00 or 2026-03-02T22:00, not "${text}".`)
}

const WEEKDAYS = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const
type Weekday = (typeof WEEKDAYS)[number]

/** Windows such as `22:00-06:00` or `MON-FRI 22:00-06:00`, in a zone by its name. Fails with a usage error on anything else. */
export function windowOf(texts: readonly string[], timezone: string): WindowSchema {
  return { weekly: texts.map(entryOf), timezone }
}

function entryOf(text: string): { days?: Weekday[]; daily: { start: string; stop: string } } {
  const read = /^(?:([A-Za-z,-]+)\s+)?(\d{1,2}:\d{2})-(\d{1,2}:\d{2})$/.exec(text.trim())
  const days = read?.[1] === undefined ? [] : read[1].toUpperCase().split(',').map(daysOf)
  if (!read || days.includes(undefined)) {
    throw new CommandFailed('usage', `--window must be such as "22:00-06:00" or "MON-FRI 22:00-06:00", not "${text}".`)
  }
  const clock = (time = '') => `${time.padStart(5, '0')}:00Z`
  const daily = { start: clock(read[2]), stop: clock(read[3]) }
  return days.length === 0 ? { daily } : { days: days.flatMap(each => each ?? []), daily }
}

/** `MON`, or `FRI-MON` with the days between. */
function daysOf(text: string): Weekday[] | undefined {
  const [first, last = first] = text.split('-').map(day => (WEEKDAYS as readonly string[]).indexOf(day))
  if (first === undefined || last === undefined || first < 0 || last < 0 || text.split('-').length > 2) return undefined
  const count = ((last - first + 7) % 7) + 1
  return Array.from({ length: count }, (_, index) => WEEKDAYS[(first + index) % 7]!)
}

/** The zone of this machine, by its name. */
export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** An instant for people, to the second; nothing for an empty one. */
export function shownInstant(text: string | null | undefined, utc: boolean): string {
  if (!text) return ''
  const at = new Date(text)
  if (Number.isNaN(at.getTime())) return text
  if (utc) return `${at.toISOString().slice(0, 19).replace('T', ' ')}Z`
  const offset = -at.getTimezoneOffset()
  const local = new Date(at.getTime() + offset * 60_000).toISOString().slice(0, 19).replace('T', ' ')
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
  const digits = (value: number) => String(value).padStart(2, '0')
  return `${local} ${offset < 0 ? '-' : '+'}${digits(hours)}:${digits(minutes)}`
}

/** A span for people, in its two largest units. */
export function shownSpan(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`
  const parts = (['d', 'h', 'm', 's'] as const).reduce<{ rest: number; words: string[] }>(
    ({ rest, words }, unit) => {
      const count = Math.floor(rest / UNITS[unit]!)
      return { rest: rest - count * UNITS[unit]!, words: count > 0 ? [...words, `${count}${unit}`] : words }
    },
    { rest: ms, words: [] },
  )
  return parts.words.slice(0, 2).join('')
}
