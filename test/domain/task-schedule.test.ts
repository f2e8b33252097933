import { describe, expect, it } from 'vitest'
import type { Instant } from '../../src/domain/instants.ts'
import { parseTaskSchedule, type TaskSchedule } from '../../src/domain/task-schedule.ts'

const at = (text: string): Instant => Date.parse(text)
const now = at('2026-06-01T12:00:00Z')

function scheduleOf(json: unknown): TaskSchedule {
  const read = parseTaskSchedule(json, now)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.value
}

const patternOf = (pattern: unknown): unknown => scheduleOf({ repeating: { pattern } }).source.repeating

describe('reading the schedule of a task', () => {
  it('starts now and runs once where nothing is said', () => {
    const once = { startAt: now, stop: null, repeating: null, source: { start: { date: '2026-06-01T12:00:00.000Z' } } }
    expect(scheduleOf(undefined)).toEqual(once)
    expect(scheduleOf({ start: null, stop: null, repeating: null })).toEqual(once)
  })

  it('reads a period back with numbers as numbers and dates in UTC', () => {
    const schedule = scheduleOf({
      start: { date: '2030-01-02T05:04:05+02:00' },
      stop: { executions: '5' },
      repeating: { period: { each: '5', unit: 'MINUTES' }, pattern: null },
    })
    expect(schedule).toEqual({
      startAt: at('2030-01-02T03:04:05Z'),
      stop: { kind: 'executions', executions: 5 },
      repeating: { kind: 'period', everyMs: 300_000 },
      source: {
        start: { date: '2030-01-02T03:04:05.000Z' },
        stop: { executions: 5 },
        repeating: { period: { each: 5, unit: 'MINUTES' } },
      },
    })
  })

  it('keeps the offset of a pattern time as it was given', () => {
    expect(patternOf({ time: '02:30:40+00:00' })).toEqual({ pattern: { time: '02:30:40+00:00' } })
    expect(patternOf({ time: '02:30:40-05:00', weekly: { days: ['MON', 'FRI'] } })).toEqual({
      pattern: { time: '02:30:40-05:00', weekly: { days: ['MON', 'FRI'] } },
    })
  })

  it('gives a pattern without time the time of day of its start, on the clock of its start', () => {
    const weekly = { days: ['SAT'] }
    const schedule = scheduleOf({ start: { date: '2026-11-21T23:30:00-05:00' }, repeating: { pattern: { weekly } } })
    expect(schedule.source.repeating).toEqual({ pattern: { time: '23:30:00-05:00', weekly } })
  })

  it('gives a pattern without time and start midnight in UTC', () => {
    expect(patternOf({ weekly: { days: ['SAT'] } })).toEqual({
      pattern: { time: '00:00:00Z', weekly: { days: ['SAT'] } },
    })
  })

  it('takes one month or several for a yearly pattern, and reads back with both', () => {
    const time = '02:30:40Z'
    const january = { pattern: { time, yearly: { day: 4, month: 'JAN', months: ['JAN'] } } }
    expect(patternOf({ time, yearly: { day: 4, month: 'JAN' } })).toEqual(january)
    expect(patternOf({ time, yearly: { day: '4', months: ['JAN'] } })).toEqual(january)
    expect(patternOf({ time, monthly: { day: 4, months: ['JUL', 'JAN', 'JUL'] } })).toEqual({
      pattern: { time, monthly: { day: 4, months: ['JUL', 'JAN'] } },
    })
  })

  it.each([
    { repeating: { period: { each: 2, unit: 'HOURS' } } },
    { stop: { date: '2031-01-01T00:00:00+01:00' }, repeating: { pattern: { weekly: { days: ['MON'] } } } },
    {
      start: { date: '2030-01-01T10:20:30.5+01:00' },
      repeating: { pattern: { monthly: { day: 31, months: ['JAN', 'FEB'] } } },
    },
    { repeating: { pattern: { yearly: { day: 29, month: 'FEB', months: ['MAR', 'FEB'] } } } },
  ])('reads what it reads back as the same schedule, at any later time: %j', json => {
    const schedule = scheduleOf(json)
    expect(parseTaskSchedule(schedule.source, now + 1e9)).toEqual({ ok: true, value: schedule })
  })
})

describe('refusing the schedule of a task', () => {
  const pattern = (members: unknown): unknown => ({ repeating: { pattern: members } })

  it.each([
    ['no object', 'daily', ['']],
    ['an unknown member', { repeat: {} }, ['.repeat']],
    ['a delayed start', { start: { delayed: 5 } }, ['.start.delayed']],
    ['a date that is none', { start: { date: 'tomorrow' } }, ['.start.date']],
    ['two ends', { stop: { date: '2030-01-01T00:00:00Z', executions: 3 } }, ['.stop']],
    ['an empty end', { stop: {} }, ['.stop']],
    ['no execution', { stop: { executions: 0 } }, ['.stop.executions']],
    [
      'period and pattern',
      { repeating: { period: { each: 1, unit: 'DAYS' }, pattern: { time: '00:00:00Z' } } },
      ['.repeating'],
    ],
    ['neither period nor pattern', { repeating: { period: null } }, ['.repeating']],
    ['a period without unit', { repeating: { period: { each: 1 } } }, ['.repeating.period.unit']],
    ['a unit misspelt', { repeating: { period: { each: 1, unit: 'WEEKS' } } }, ['.repeating.period.unit']],
    ['a period of nothing', { repeating: { period: { each: 0, unit: 'DAYS' } } }, ['.repeating.period.each']],
    ['a period in fractions', { repeating: { period: { each: 1.5, unit: 'DAYS' } } }, ['.repeating.period.each']],
    ['a period past ten years', { repeating: { period: { each: 4000, unit: 'DAYS' } } }, ['.repeating.period.each']],
    ['an empty pattern', pattern({}), ['.repeating.pattern']],
    ['two patterns', pattern({ weekly: { days: ['MON'] }, yearly: { day: 1, month: 'JAN' } }), ['.repeating.pattern']],
    ['a time without offset', pattern({ time: '02:30:40' }), ['.repeating.pattern.time']],
    ['a week without days', pattern({ weekly: { days: [] } }), ['.repeating.pattern.weekly.days']],
    ['a day misspelt', pattern({ weekly: { days: ['MON', 'TEU'] } }), ['.repeating.pattern.weekly.days[1]']],
    ['months without day', pattern({ monthly: { months: ['JAN'] } }), ['.repeating.pattern.monthly.day']],
    ['a day without months', pattern({ monthly: { day: 3 } }), ['.repeating.pattern.monthly.months']],
    [
      'a single month where it is not known',
      pattern({ monthly: { day: 3, month: 'JAN' } }),
      ['.repeating.pattern.monthly.month'],
    ],
    ['a year without day', pattern({ yearly: { month: 'JAN' } }), ['.repeating.pattern.yearly.day']],
    ['a year without month', pattern({ yearly: { day: 3 } }), ['.repeating.pattern.yearly.months']],
    [
      'a month that is not among the months',
      pattern({ yearly: { day: 3, month: 'JAN', months: ['FEB'] } }),
      ['.repeating.pattern.yearly.month'],
    ],
    ['day 32', pattern({ monthly: { day: 32, months: ['JAN'] } }), ['.repeating.pattern.monthly.day']],
    [
      'a day that no month given has',
      pattern({ monthly: { day: 31, months: ['FEB', 'APR'] } }),
      ['.repeating.pattern.monthly.day'],
    ],
    [
      'several at once',
      { start: { date: 5 }, stop: { executions: -1 }, repeating: {} },
      ['.start.date', '.stop.executions', '.repeating'],
    ],
  ])('names the field: %s', (_, json, paths) => {
    const read = parseTaskSchedule(json, now, 'task.schedule')
    const found = read.ok ? [] : read.problems.map(problem => problem.path.replace('task.schedule', ''))
    expect(found.filter(path => paths.includes(path))).toEqual(paths)
  })
})
