/**
 * When the task of a draft makes its first job. It foretells what the service decides once the task is made, so that the plan can be
 * asked for that instant. Pure: the clock is an argument.
 */
import { DAYS, type Draft, MONTHS } from './draft.ts'

const DAY_MS = 86_400_000
const UNIT_MS = { SECONDS: 1_000, MINUTES: 60_000, HOURS: 3_600_000, DAYS: DAY_MS } as const
/** A 29 February may be eight years away, around a year such as 2100. */
const DAYS_AHEAD = 366 * 9

/** The instant of the first job of a task that is made at `now`; null where there is none, or the draft does not say it yet. */
export function nextRunAt(draft: Draft, now: number): number | null {
  const startAt = draft.start === 'date' ? Date.parse(draft.startDate) : now
  if (Number.isNaN(startAt)) return null
  if (draft.repeat === 'once') return Math.max(startAt, now)
  if (draft.repeat === 'period') {
    const everyMs = draft.each * UNIT_MS[draft.unit]
    return startAt + Math.ceil(Math.max(0, now - startAt) / everyMs) * everyMs
  }
  return nextOfPattern(draft, Math.max(startAt, now), now)
}

/** Patterns keep the offset that is in force when the task is made, whatever summer time does later. */
function nextOfPattern(draft: Draft, from: number, now: number): number | null {
  const [hours = Number.NaN, minutes = Number.NaN] = draft.time.split(':').map(Number)
  const offsetMs = -new Date(now).getTimezoneOffset() * 60_000
  const sinceUtcMidnightMs = (hours * 60 + minutes) * 60_000 - offsetMs
  if (Number.isNaN(sinceUtcMidnightMs)) return null
  const first = Math.ceil((from - sinceUtcMidnightMs) / DAY_MS)
  for (let day = first; day < first + DAYS_AHEAD; day++) {
    if (isOf(draft, new Date(day * DAY_MS))) return day * DAY_MS + sinceUtcMidnightMs
  }
  return null
}

/** Whether a day, told at its midnight in UTC, is one of the pattern. */
function isOf({ repeat, days, day, months }: Draft, at: Date): boolean {
  if (repeat === 'daily') return true
  if (repeat === 'weekly') return days.some(each => DAYS.indexOf(each) === (at.getUTCDay() + 6) % 7)
  return at.getUTCDate() === day && months.some(each => MONTHS.indexOf(each) === at.getUTCMonth())
}
