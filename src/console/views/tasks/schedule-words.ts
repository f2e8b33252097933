/** A task and its schedule in words. Pure. */
import { clockWords, daysWords } from '../../clock-words.ts'

interface Repeating {
  readonly period?: { readonly each: number; readonly unit: string }
  readonly pattern?: {
    readonly time?: string
    readonly weekly?: { readonly days: readonly string[] }
    readonly monthly?: { readonly day: number; readonly months: readonly string[] }
    readonly yearly?: { readonly day: number; readonly months?: readonly string[]; readonly month?: string }
  }
}

/** Every 2 hours; Mon, Fri at 02:30 UTC+01:00. */
export function repeatWords(schedule: Readonly<Record<string, unknown>>): string {
  const { period, pattern } = (schedule.repeating ?? {}) as Repeating
  if (period) {
    const unit = period.unit.toLowerCase()
    return period.each === 1 ? `every ${unit.slice(0, -1)}` : `every ${period.each} ${unit}`
  }
  if (!pattern) return 'once'
  const at = pattern.time ? ` at ${clockWords(pattern.time)}` : ''
  if (pattern.weekly) return `${daysWords(pattern.weekly.days)}${at}`
  const dates = pattern.monthly ?? pattern.yearly
  if (!dates) return `every day${at}`
  const months = dates.months ?? ('month' in dates && dates.month ? [dates.month] : [])
  return `day ${dates.day} of ${months.length === 12 ? 'every month' : months.join(', ')}${at}`
}

interface Titled {
  readonly name?: string | undefined
  readonly schedule: unknown
  readonly job: { readonly request: { readonly name?: unknown } }
}

/** The name of a task; one that was given none is called by what it runs, and when. */
export const taskTitle = ({ name, schedule, job }: Titled): string =>
  name || `${String(job.request.name)}, ${repeatWords(schedule as Readonly<Record<string, unknown>>)}`
