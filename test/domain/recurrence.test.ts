import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import { dayMs, hourMs, type Instant, minuteMs, weekdays } from '../../src/domain/instants.ts'
import {
  firstOccurrence,
  isUsedUp,
  jobDelaysTooLong,
  missed,
  nextOccurrence,
  shortestGap,
} from '../../src/domain/recurrence.ts'
import { parseSchedule } from '../../src/domain/schedule.ts'
import { months, parseTaskSchedule, type TaskSchedule } from '../../src/domain/task-schedule.ts'

const at = (text: string): Instant => Date.parse(text)
const now = at('2026-01-01T00:00:00Z')

function scheduleOf(json: unknown): TaskSchedule {
  const read = parseTaskSchedule(json, now)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.value
}

const patternOf = (pattern: unknown): TaskSchedule => scheduleOf({ repeating: { pattern } })

function occurrencesOf(schedule: TaskSchedule, from: Instant, to: Instant): Instant[] {
  const found: Instant[] = []
  let next = nextOccurrence(schedule, from, true)
  while (next !== null && next < to) {
    found.push(next)
    next = nextOccurrence(schedule, next, false)
  }
  return found
}

const written = (instants: readonly Instant[]): string[] => instants.map(instant => new Date(instant).toISOString())

describe('a period', () => {
  it('counts from its start, whatever happened since', () => {
    const schedule = scheduleOf({
      start: { date: '2020-02-29T00:00:07Z' },
      repeating: { period: { each: 7, unit: 'HOURS' } },
    })
    const next = nextOccurrence(schedule, now, true)!
    expect((next - schedule.startAt) % (7 * hourMs)).toBe(0)
    expect(next - now).toBeLessThan(7 * hourMs)
    expect(nextOccurrence(schedule, next, true)).toBe(next)
    expect(nextOccurrence(schedule, next, false)).toBe(next + 7 * hourMs)
  })

  it('has its first occurrence now where there is no start, and at its start where that is to come', () => {
    const period = { each: 5, unit: 'MINUTES' }
    expect(firstOccurrence(scheduleOf({ repeating: { period } }), now)).toBe(now)
    const later = scheduleOf({ start: { date: '2031-01-01T00:00:00Z' }, repeating: { period } })
    expect(firstOccurrence(later, now)).toBe(at('2031-01-01T00:00:00Z'))
  })

  it('ends at its stop, at which nothing more starts', () => {
    const schedule = scheduleOf({
      stop: { date: '2026-01-01T02:00:00Z' },
      repeating: { period: { each: 1, unit: 'HOURS' } },
    })
    expect(written(occurrencesOf(schedule, now, now + dayMs))).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2026-01-01T01:00:00.000Z',
    ])
  })

  it('is always the least point of its grid that is late enough', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4e12 }),
        fc.integer({ min: 1, max: 1e6 }),
        fc.integer({ min: 0, max: 4e12 }),
        fc.boolean(),
        (startAt, each, after, inclusive) => {
          const source = {
            start: { date: new Date(startAt).toISOString() },
            repeating: { period: { each, unit: 'SECONDS' } },
          }
          const next = nextOccurrence(scheduleOf(source), after, inclusive)!
          expect((next - startAt) % (each * 1000)).toBe(0)
          expect(inclusive ? next >= after : next > after).toBe(true)
          const before = next - each * 1000
          expect(before < startAt || (inclusive ? before < after : before <= after)).toBe(true)
        },
      ),
    )
  })
})

describe('no repeating', () => {
  it('is one execution, at its start', () => {
    const schedule = scheduleOf({ start: { date: '2026-03-01T00:00:00Z' } })
    expect(occurrencesOf(schedule, now, now + 1000 * dayMs)).toEqual([at('2026-03-01T00:00:00Z')])
    expect(isUsedUp(schedule, 0, now)).toBe(false)
    expect(isUsedUp(schedule, 1, now)).toBe(true)
  })

  it('is due at once where the start is past, unless the stop is too', () => {
    expect(firstOccurrence(scheduleOf({ start: { date: '2020-01-01T00:00:00Z' } }), now)).toBe(now)
    const stopped = scheduleOf({ start: { date: '2020-01-01T00:00:00Z' }, stop: { date: '2020-02-01T00:00:00Z' } })
    expect(firstOccurrence(stopped, now)).toBeNull()
  })
})

describe('a pattern', () => {
  it('with a time alone is daily', () => {
    const daily = patternOf({ time: '02:30:40+02:00' })
    const year = occurrencesOf(daily, now, at('2027-01-01T00:00:00Z'))
    expect(year).toHaveLength(365)
    expect(new Set(written(year).map(text => text.slice(10)))).toEqual(new Set(['T00:30:40.000Z']))
  })

  it('takes its days on the clock of its offset', () => {
    const weekly = patternOf({ time: '23:30:00-05:00', weekly: { days: ['SAT'] } })
    expect(written(occurrencesOf(weekly, now, now + 14 * dayMs))).toEqual([
      '2026-01-04T04:30:00.000Z',
      '2026-01-11T04:30:00.000Z',
    ])
  })

  it('skips the months that are too short for its day', () => {
    const last = patternOf({ time: '12:00:00Z', monthly: { day: 31, months: [...months] } })
    expect(written(occurrencesOf(last, now, at('2027-01-01T00:00:00Z'))).map(text => text.slice(5, 10))).toEqual([
      '01-31',
      '03-31',
      '05-31',
      '07-31',
      '08-31',
      '10-31',
      '12-31',
    ])
  })

  it('meets 29 February in leap years only, eight years apart around 2100', () => {
    const leap = patternOf({ time: '12:00:00Z', yearly: { day: 29, month: 'FEB' } })
    const years = written(occurrencesOf(leap, at('2089-01-01T00:00:00Z'), at('2110-01-01T00:00:00Z')))
    expect(years.map(text => text.slice(0, 10))).toEqual(['2092-02-29', '2096-02-29', '2104-02-29', '2108-02-29'])
  })

  it('does not run before its start, nor at or after its stop, and may leave no occurrence at all', () => {
    const pattern = { time: '02:30:40+00:00', weekly: { days: ['MON', 'FRI'] } }
    const start = { date: '2026-11-21T02:30:40+00:00' }
    const none = scheduleOf({ start, stop: { date: '2026-11-22T01:30:40+00:00' }, repeating: { pattern } })
    expect(firstOccurrence(none, now)).toBeNull()
    const one = scheduleOf({ start, stop: { date: '2026-11-27T02:30:40Z' }, repeating: { pattern } })
    expect(written(occurrencesOf(one, now, now + 1000 * dayMs))).toEqual(['2026-11-23T02:30:40.000Z'])
  })

  it('runs on its first occurrence where the start is exactly that', () => {
    const schedule = scheduleOf({
      start: { date: '2026-03-29T02:30:00.250+02:00' },
      repeating: { pattern: { weekly: { days: ['SUN'] } } },
    })
    expect(firstOccurrence(schedule, now)).toBe(at('2026-03-29T00:30:00.250Z'))
  })

  const two = (value: number): string => String(value).padStart(2, '0')
  const kind = fc.oneof(
    fc.constant({}),
    fc.record({ weekly: fc.record({ days: fc.subarray([...weekdays], { minLength: 1 }) }) }),
    fc.record({
      monthly: fc.record({ day: fc.integer({ min: 1, max: 29 }), months: fc.subarray([...months], { minLength: 1 }) }),
    }),
    fc.record({ monthly: fc.record({ day: fc.constantFrom(30, 31), months: fc.constant([...months]) }) }),
    fc.record({ yearly: fc.record({ day: fc.integer({ min: 1, max: 29 }), month: fc.constantFrom(...months) }) }),
  )
  const clock = fc.record({
    minute: fc.integer({ min: 0, max: 24 * 60 - 1 }),
    offset: fc.constantFrom(0, 60, 120, -300, -570, 330, 765),
  })

  /** The oracle: every day of the span, on the clock of the offset, looked at one by one. */
  function dayByDay(
    pattern: {
      weekly?: { days: readonly string[] }
      monthly?: { day: number; months: readonly string[] }
      yearly?: { day: number; month: string }
    },
    { minute, offset }: { minute: number; offset: number },
    from: string,
    days: number,
  ): Instant[] {
    const first = Temporal.PlainDate.from(from)
    const dates = Array.from({ length: days }, (_, day) => first.add({ days: day }))
    const { weekly, monthly, yearly } = pattern
    return dates
      .filter(date => {
        const month = months[date.month - 1]!
        if (weekly) return weekly.days.includes(weekdays[date.dayOfWeek - 1]!)
        if (monthly) return monthly.day === date.day && monthly.months.includes(month)
        return yearly ? yearly.day === date.day && yearly.month === month : true
      })
      .map(date => {
        const local = date.toPlainDateTime().add({ minutes: minute })
        return local.toZonedDateTime('UTC').epochMilliseconds - offset * minuteMs
      })
  }

  it('has in a year, through both changes of summer time, exactly the days looked up one by one', () => {
    fc.assert(
      fc.property(kind, clock, fc.constantFrom(2027, 2028), (shape, { minute, offset }, year) => {
        const distance = `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
        const time = `${two(Math.floor(minute / 60))}:${two(minute % 60)}:00${distance}`
        const schedule = patternOf({ time, ...shape })
        const expected = dayByDay(shape, { minute, offset }, `${year - 1}-12-30`, 369)
        const [from, to] = [at(`${year}-01-01T00:00:00Z`), at(`${year + 1}-01-01T00:00:00Z`)]
        expect(occurrencesOf(schedule, from, to)).toEqual(expected.filter(instant => instant >= from && instant < to))
      }),
      { numRuns: 150 },
    )
  })

  it('never has two occurrences closer than its shortest gap, and in sixteen years two exactly that close', () => {
    fc.assert(
      fc.property(kind, shape => {
        const schedule = patternOf({ time: '10:00:00Z', ...shape })
        const found = occurrencesOf(schedule, now, at('2042-01-01T00:00:00Z'))
        expect(Math.min(...found.slice(1).map((instant, index) => instant - found[index]!))).toBe(shortestGap(schedule))
      }),
      { numRuns: 40 },
    )
  })
})

describe('the stop of the job', () => {
  const stop = (delayed: number) => {
    const read = parseSchedule({ stop: { delayed } }, { dates: false })
    if (!read.ok) throw new Error('not a schedule')
    return read.value
  }

  it('must be shorter than the period, or than the shortest gap of a pattern', () => {
    const period = scheduleOf({ repeating: { period: { each: 5, unit: 'MINUTES' } } })
    expect(jobDelaysTooLong(period, stop(5 * minuteMs - 1))).toEqual([])
    expect(jobDelaysTooLong(period, stop(5 * minuteMs)).map(problem => problem.path)).toEqual([
      'task.job.request.schedule.stop.delayed',
    ])
    const weekly = patternOf({ weekly: { days: ['MON', 'WED'] } })
    expect(jobDelaysTooLong(weekly, stop(2 * dayMs - 1))).toEqual([])
    expect(jobDelaysTooLong(weekly, stop(2 * dayMs))).toHaveLength(1)
  })

  it('is judged with the start of the job, which must come before the next run, too', () => {
    const read = parseSchedule({ start: { delayed: 5 * minuteMs } })
    const period = scheduleOf({ repeating: { period: { each: 5, unit: 'MINUTES' } } })
    expect(read.ok && jobDelaysTooLong(period, read.value).map(problem => problem.path)).toEqual([
      'task.job.request.schedule.start.delayed',
    ])
  })

  it('may be any where the task runs once, and may be left out', () => {
    expect(jobDelaysTooLong(scheduleOf({}), stop(1000 * dayMs))).toEqual([])
    const read = parseSchedule({})
    expect(read.ok && jobDelaysTooLong(patternOf({ time: '00:00:00Z' }), read.value)).toEqual([])
  })
})

describe('after an outage', () => {
  const hourly = scheduleOf({ repeating: { period: { each: 1, unit: 'HOURS' } } })

  it('a waiting job missed by less than a period runs, and nothing is skipped', () => {
    expect(missed(hourly, now, now)).toEqual({ run: true, skipped: 0, nextAt: now + hourMs })
    expect(missed(hourly, now, now + hourMs - 1)).toEqual({ run: true, skipped: 0, nextAt: now + hourMs })
  })

  it('a waiting job missed by a period or more is skipped with all the others that passed', () => {
    expect(missed(hourly, now, now + hourMs)).toEqual({ run: false, skipped: 1, nextAt: now + hourMs })
    expect(missed(hourly, now, now + 10.5 * hourMs)).toEqual({ run: false, skipped: 11, nextAt: now + 11 * hourMs })
  })

  it('a pattern counts its own occurrences', () => {
    const weekly = patternOf({ time: '10:00:00Z', weekly: { days: ['MON', 'THU'] } })
    const monday = at('2026-01-05T10:00:00Z')
    expect(missed(weekly, monday, monday + 2 * dayMs)).toEqual({ run: true, skipped: 0, nextAt: monday + 3 * dayMs })
    expect(missed(weekly, monday, monday + 8 * dayMs)).toEqual({ run: false, skipped: 3, nextAt: monday + 10 * dayMs })
  })

  it('what lay behind the stop was never due, and is not counted', () => {
    const stopping = scheduleOf({
      stop: { date: '2026-01-01T03:00:00Z' },
      repeating: { period: { each: 1, unit: 'HOURS' } },
    })
    expect(missed(stopping, now, now + dayMs)).toEqual({ run: false, skipped: 3, nextAt: null })
    expect(missed(stopping, now + 2 * hourMs, now + 2.5 * hourMs)).toEqual({ run: true, skipped: 0, nextAt: null })
    expect(isUsedUp(stopping, 2, now + 3 * hourMs)).toBe(true)
  })

  it('a single execution runs however late, and one that is not due waits', () => {
    expect(missed(scheduleOf({}), now, now + 1000 * dayMs)).toEqual({ run: true, skipped: 0, nextAt: null })
    expect(missed(hourly, now + hourMs, now)).toEqual({ run: false, skipped: 0, nextAt: now + hourMs })
  })

  it('every occurrence is run, skipped or still to come, and none twice', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 40 * dayMs }), (nth, lateMs) => {
        const weekly = patternOf({ time: '10:00:00Z', weekly: { days: ['MON', 'TUE', 'SAT'] } })
        for (const schedule of [hourly, weekly]) {
          const all = occurrencesOf(schedule, now, now + 300 * dayMs)
          const waitingAt = all[nth % 80]!
          const { run, skipped, nextAt } = missed(schedule, waitingAt, waitingAt + lateMs)
          expect(nextAt).toBe(all[all.indexOf(waitingAt) + skipped + (run ? 1 : 0)])
          expect(run ? nextAt! > waitingAt + lateMs : nextAt! >= waitingAt + lateMs).toBe(true)
        }
      }),
    )
  })

  it('executions used up end the task', () => {
    const twice = scheduleOf({ stop: { executions: 2 }, repeating: { period: { each: 1, unit: 'HOURS' } } })
    expect(isUsedUp(twice, 1, now)).toBe(false)
    expect(isUsedUp(twice, 2, now)).toBe(true)
  })
})
