/** When a task repeats its job: as options write it, and as people read it. The service is its judge. */
import type { TaskScheduleSchema, TaskView } from '../../../contract/client/client.ts'
import type { Run } from '../../frame/command.ts'
import { CommandFailed } from '../../frame/exit-codes.ts'
import { readInstant, readSpan, shownSpan } from '../../reading/times.ts'

const PERIODS = [
  ['DAYS', 86_400_000],
  ['HOURS', 3_600_000],
  ['MINUTES', 60_000],
  ['SECONDS', 1_000],
] as const

/** The schedule that the options say. Fails with a usage error that names what is wrong. */
export function readTaskSchedule({ options, out }: Run): TaskScheduleSchema {
  const { first, every, at, on, day, months, times, until } = options
  const instant = (option: string, value: unknown) => {
    if (typeof value !== 'string') return undefined
    const read = readInstant(value, new Date(), out.utc)
    if (!read)
      throw new CommandFailed('usage', `${option} must be a time such as 22:00 or 2026-03-02T22:00, not "${value}".`)
    return { date: read.toISOString() }
  }
  const start = instant('--first', first)
  const stop = typeof times === 'number' ? { executions: times } : instant('--until', until)
  const patterned = [at, on, day, months].some(value => value !== undefined)
  if (every !== undefined && patterned)
    throw new CommandFailed('usage', 'Give --every, or --at with --on, --day and --months.')
  // The service is the judge of the words for days and months.
  const calendar = {
    ...(typeof at === 'string' && { time: timeOfDay(at, out.utc) }),
    ...(Array.isArray(on) && { weekly: { days: on } }),
    ...(typeof day === 'number' &&
      (Array.isArray(months) ? { yearly: { day, months } } : { monthly: { day, months: MONTHS } })),
  } as Pattern
  const repeating =
    typeof every === 'string' ? { period: periodOf(every) } : patterned ? { pattern: calendar } : undefined
  return { ...(start && { start }), ...(stop && { stop }), ...(repeating && { repeating }) }
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
type Pattern = Extract<NonNullable<TaskScheduleSchema['repeating']>, { pattern: unknown }>['pattern']

function periodOf(text: string): { each: number; unit: (typeof PERIODS)[number][0] } {
  const span = readSpan(text)
  const [unit, length] = PERIODS.find(([, ms]) => span !== undefined && span > 0 && span % ms === 0) ?? []
  if (span === undefined || unit === undefined) {
    throw new CommandFailed('usage', `--every must be whole seconds, such as 90s, 15m or 6h, not "${text}".`)
  }
  return { each: span / length, unit }
}

/** A time of day with the offset that this machine has now: a pattern keeps the offset it came with. */
function timeOfDay(text: string, utc: boolean): string {
  const clock = /^(\d{1,2}:\d{2})(:\d{2})?$/.exec(text)
  if (!clock) throw new CommandFailed('usage', `--at must be a time of day such as 02:30, not "${text}".`)
  const time = `${clock[1]!.padStart(5, '0')}${clock[2] ?? ':00'}`
  const offset = utc ? 0 : -new Date().getTimezoneOffset()
  if (offset === 0) return `${time}Z`
  const digits = (value: number) => String(value).padStart(2, '0')
  return `${time}${offset < 0 ? '-' : '+'}${digits(Math.floor(Math.abs(offset) / 60))}:${digits(Math.abs(offset) % 60)}`
}

/** How often, in a few words. */
export function repeats(schedule: TaskView['schedule']): string {
  const { repeating } = schedule as TaskScheduleSchema
  if (!repeating) return 'once'
  if ('period' in repeating) {
    const { each, unit } = repeating.period
    return `every ${shownSpan(each * PERIODS.find(([name]) => name === unit)![1])}`
  }
  const { time, weekly, monthly, yearly } = repeating.pattern
  const days =
    weekly?.days.join(',') ??
    (monthly ? dayOf(monthly.day, monthly.months) : yearly ? dayOf(yearly.day, yearly.months) : 'daily')
  return time === undefined ? days : `${days} at ${time}`
}

const dayOf = (day: number, months: readonly string[] = MONTHS) =>
  months.length === MONTHS.length ? `day ${day}` : `day ${day} of ${months.join(',')}`
