import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Condition, Draft } from '../../src/console/views/launch/draft.ts'
import { parseFilter } from '../../src/domain/filter.ts'
import { firstOccurrence, nextOccurrence } from '../../src/domain/recurrence.ts'
import { parseTaskSchedule } from '../../src/domain/task-schedule.ts'
import { isOpen, parseWindow } from '../../src/domain/window.ts'

const zoneOfTests = process.env.TZ

/** The module as a browser whose clock is of this zone loads it. */
async function drawnIn(zone: string) {
  process.env.TZ = zone
  vi.resetModules()
  const draft = await import('../../src/console/views/launch/draft.ts')
  const full: Draft = { ...draft.EMPTY, name: 'REFRESH_INFO', list: ['pump-1'] }
  return { ...draft, full }
}

afterEach(() => {
  vi.useRealTimers()
  if (zoneOfTests === undefined) delete process.env.TZ
  else process.env.TZ = zoneOfTests
})

const ZONES = ['UTC', 'Europe/Madrid', 'America/St_Johns', 'Asia/Kolkata', 'Pacific/Auckland']
const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6]

describe('a window drawn on a week', () => {
  test('says the hours of its days, and the zone they were drawn in', async () => {
    const { windowOf, hoursOpen } = await drawnIn('Europe/Madrid')
    expect(windowOf(hoursOpen(9, 17, [0, 2]))).toEqual({
      weekly: [{ days: ['MON', 'WED'], daily: { start: '09:00:00Z', stop: '17:00:00Z' } }],
      timezone: 'Europe/Madrid',
    })
  })

  test('goes on over midnight, on the day on which it opens', async () => {
    const { windowOf, hoursOpen } = await drawnIn('America/St_Johns')
    expect(windowOf(hoursOpen(22, 6, [4, 6]))).toEqual({
      weekly: [{ days: ['FRI', 'SUN'], daily: { start: '22:00:00Z', stop: '06:00:00Z' } }],
      timezone: 'America/St_Johns',
    })
  })

  test('names no days where it is the same on each of them', async () => {
    const { windowOf, hoursOpen } = await drawnIn('Asia/Tokyo')
    expect(windowOf(hoursOpen(22, 6, EVERY_DAY))).toEqual({
      weekly: [{ daily: { start: '22:00:00Z', stop: '06:00:00Z' } }],
      timezone: 'Asia/Tokyo',
    })
  })

  test('is one entry for the days with the same hours, and one for those with others', async () => {
    const { windowOf, hoursOpen } = await drawnIn('UTC')
    const nights = hoursOpen(1, 5, [0, 1, 2, 3, 4])
    const weekend = hoursOpen(0, 23, [5, 6])
    expect(windowOf(nights.map((day, at) => day.map((open, hour) => open || weekend[at]?.[hour] === true)))).toEqual({
      weekly: [
        { days: ['MON', 'TUE', 'WED', 'THU', 'FRI'], daily: { start: '01:00:00Z', stop: '05:00:00Z' } },
        { days: ['SAT', 'SUN'], daily: { start: '00:00:00Z', stop: '23:00:00Z' } },
      ],
      timezone: 'UTC',
    })
  })

  test('is one entry of whole days where every hour is open, and none where no hour is', async () => {
    const { windowOf } = await drawnIn('UTC')
    const all = (open: boolean) => EVERY_DAY.map(() => Array.from({ length: 24 }, () => open))
    expect(windowOf(all(true))).toEqual({
      weekly: [{ daily: { start: '00:00:00Z', stop: '00:00:00Z' } }],
      timezone: 'UTC',
    })
    expect(windowOf(all(false))).toBeNull()
  })

  test.each(ZONES)('opens exactly the hours that were drawn, in %s, in winter and in summer', async zone => {
    const { windowOf, hoursOpen } = await drawnIn(zone)
    const hour = fc.integer({ min: 0, max: 23 })
    const stroke = fc.record({ from: hour, to: hour, days: fc.subarray(EVERY_DAY) })
    const strokes = fc.array(stroke, { maxLength: 5 }).map(drawn => {
      const each = drawn.map(({ from, to, days }) => hoursOpen(from, to, days))
      return EVERY_DAY.map(day => Array.from({ length: 24 }, (_, at) => each.some(week => week[day]?.[at] === true)))
    })
    const long = fc
      .tuple(fc.nat(167), fc.integer({ min: 1, max: 168 }))
      .map(([first, length]) =>
        EVERY_DAY.map(day => Array.from({ length: 24 }, (_, at) => (day * 24 + at - first + 168) % 168 < length)),
      )
    fc.assert(
      fc.property(fc.oneof(strokes, long), week => {
        const request = windowOf(week)
        expect(request === null).toBe(!week.flat().includes(true))
        if (request === null) return
        const read = parseWindow(request)
        if (!read.ok) throw new Error(JSON.stringify(read.problems))
        // 5 January and 6 July 2026 are Mondays; no clock of these zones is changed in the week after them.
        for (const [month, monday] of [
          [0, 5],
          [6, 6],
        ] as const) {
          const opens = EVERY_DAY.map(day =>
            Array.from({ length: 24 }, (_, at) =>
              isOpen(read.value, new Date(2026, month, monday + day, at, 30).getTime()),
            ),
          )
          expect(opens).toEqual(week)
        }
      }),
      { numRuns: 40 },
    )
  })

  test('goes into the request, and stays out where none was drawn', async () => {
    const { requestOf, windowOf, hoursOpen, full } = await drawnIn('Europe/Madrid')
    const week = hoursOpen(22, 6, [0])
    expect(requestOf({ ...full, week }).schedule?.window).toEqual(windowOf(week))
    expect(requestOf({ ...full, week }, true).schedule?.window).toEqual(windowOf(week))
    expect(requestOf(full).schedule).not.toHaveProperty('window')
  })
})

describe('conditions', () => {
  const field = 'provision.device.model'
  const operators: readonly [Condition['operator'], string, object, object][] = [
    ['eq', 'm-1', { eq: { [field]: 'm-1' } }, { kind: 'anyOf', field, values: ['m-1'] }],
    ['in', 'm-1, m-2', { in: { [field]: ['m-1', 'm-2'] } }, { kind: 'anyOf', field, values: ['m-1', 'm-2'] }],
    ['neq', 'm-1', { neq: { [field]: 'm-1' } }, { kind: 'not', part: { kind: 'anyOf', field, values: ['m-1'] } }],
    [
      'like',
      '^m-',
      { like: { [field]: '^m-' } },
      { kind: 'like', field, pattern: '^m-', caseSensitive: true, path: `filter.like.${field}` },
    ],
    ['exists', '', { exists: { [field]: true } }, { kind: 'exists', field }],
    ['missing', '', { exists: { [field]: false } }, { kind: 'not', part: { kind: 'exists', field } }],
  ]

  test.each(operators)('"%s" is asked as the service reads it', async (operator, value, filter, read) => {
    const { filterOf, requestOf, full } = await drawnIn('UTC')
    const conditions = [{ id: 1, field, operator, value }]
    expect(filterOf({ conditions, every: true })).toEqual(filter)
    expect(parseFilter(filter, () => 'text')).toEqual(read)
    expect(requestOf({ ...full, target: 'filter', conditions }).target).toEqual({ append: { filter } })
  })

  test('go together as all of them or any of them; one without a field is not asked', async () => {
    const { filterOf } = await drawnIn('UTC')
    const conditions = operators.map(([operator, value], id) => ({ id, field, operator, value }))
    const filters = operators.map(([, , filter]) => filter)
    expect(filterOf({ conditions, every: true })).toEqual({ and: filters })
    expect(filterOf({ conditions, every: false })).toEqual({ or: filters })
    const empty: Condition = { id: 9, field: '', operator: 'eq', value: 'x' }
    expect(filterOf({ conditions: [...conditions.slice(0, 1), empty], every: false })).toEqual(filters[0])
    expect(filterOf({ conditions: [empty], every: true })).toEqual({})
  })
})

describe('a job as it was filled in', () => {
  test('begins at once and stops after four hours where nothing else is chosen', async () => {
    const { requestOf, full } = await drawnIn('UTC')
    expect(requestOf(full)).toEqual({
      name: 'REFRESH_INFO',
      parameters: {},
      target: { append: { entities: ['pump-1'] } },
      active: true,
      schedule: { stop: { delayed: 14_400_000 } },
      operationParameters: { timeout: 60_000 },
    })
  })

  test('begins at a date of the viewer, or is left inactive', async () => {
    const { requestOf, full } = await drawnIn('Asia/Kolkata')
    const none: Draft = { ...full, stop: 'none' }
    const dated = requestOf({ ...none, start: 'date', startDate: '2026-07-01T02:00' })
    expect([dated.active, dated.schedule]).toEqual([true, { start: { date: '2026-06-30T20:30:00.000Z' } }])
    const never = requestOf({ ...none, start: 'never', startDate: '2026-07-01T02:00' })
    expect([never.active, never.schedule]).toEqual([false, undefined])
    expect(requestOf(none)).toMatchObject({ active: true })
    expect(requestOf(none)).not.toHaveProperty('schedule')
  })

  test('stops after a while, at a date of the viewer, or never', async () => {
    const { requestOf, full } = await drawnIn('America/St_Johns')
    const stopOf = (change: Partial<Draft>) => requestOf({ ...full, ...change }).schedule?.stop
    expect(stopOf({ stop: 'after', stopAfterMin: 1.5 })).toEqual({ delayed: 90_000 })
    expect(stopOf({ stop: 'date', stopDate: '2026-01-31T23:00' })).toEqual({ date: '2026-02-01T02:30:00.000Z' })
    expect(stopOf({ stop: 'none', stopDate: '2026-01-31T23:00' })).toBeUndefined()
  })

  test('carries scattering, limits, notes and callback as they were set', async () => {
    const { requestOf, full } = await drawnIn('UTC')
    const request = requestOf({
      ...full,
      target: 'tag',
      tag: 'pumps',
      parameters: { deep: true },
      maxSpread: 80,
      factor: 50,
      warningMaxRate: 12,
      ackTimeoutS: 30,
      timeoutS: 600,
      retries: 2,
      retriesDelayS: 45,
      retryResults: ['ERROR_PROCESSING'],
      userNotes: 'a night',
      callback: 'https://example.com/done',
      notify: true,
    })
    expect(request).toEqual({
      name: 'REFRESH_INFO',
      parameters: { deep: true },
      target: { append: { tags: ['pumps'] } },
      active: true,
      schedule: {
        stop: { delayed: 14_400_000 },
        scattering: {
          maxSpread: 80,
          strategy: { field: 'subscription.collected.cellInfo', factor: 50 },
          warningMaxRate: 12,
        },
      },
      operationParameters: {
        ackTimeout: 30_000,
        timeout: 600_000,
        retries: 2,
        retriesDelay: 45_000,
        retryResultList: ['ERROR_PROCESSING'],
      },
      notify: true,
      callback: 'https://example.com/done',
      userNotes: 'a night',
    })
  })
})

describe('a task as it was filled in', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-01-15T12:00:00Z') })
  })

  test('repeats daily, on days of the week, on a day of the months, or after a while', async () => {
    const { taskScheduleOf, full } = await drawnIn('Europe/Madrid')
    const repeating = (change: Partial<Draft>) => taskScheduleOf({ ...full, time: '03:15', ...change }).repeating
    const time = '03:15:00+01:00'
    expect(repeating({ repeat: 'daily' })).toEqual({ pattern: { time } })
    expect(repeating({ repeat: 'weekly', days: ['SAT', 'SUN'] })).toEqual({
      pattern: { time, weekly: { days: ['SAT', 'SUN'] } },
    })
    expect(repeating({ repeat: 'monthly', day: 31, months: ['JAN', 'JUL'] })).toEqual({
      pattern: { time, monthly: { day: 31, months: ['JAN', 'JUL'] } },
    })
    for (const unit of ['SECONDS', 'MINUTES', 'HOURS', 'DAYS'] as const) {
      expect(repeating({ repeat: 'period', each: 6, unit })).toEqual({ period: { each: 6, unit } })
    }
  })

  test('runs once where it does not repeat; begins at a date of the viewer; ends after a number of runs', async () => {
    const { taskScheduleOf, full } = await drawnIn('Europe/Madrid')
    const once: Draft = { ...full, repeat: 'once' }
    expect(taskScheduleOf(once)).toEqual({})
    expect(taskScheduleOf({ ...once, start: 'date', startDate: '2026-07-01T02:00' })).toEqual({
      start: { date: '2026-07-01T00:00:00.000Z' },
    })
    expect(taskScheduleOf({ ...once, executions: 3 })).toEqual({ stop: { executions: 3 } })
  })

  test('leaves start and date of stop of its jobs to the task', async () => {
    const { requestOf, full } = await drawnIn('Europe/Madrid')
    const dated: Draft = {
      ...full,
      start: 'date',
      startDate: '2026-07-01T02:00',
      stop: 'date',
      stopDate: '2026-08-01T02:00',
    }
    expect(requestOf(dated, true)).toMatchObject({ active: true })
    expect(requestOf(dated, true)).not.toHaveProperty('schedule')
    expect(requestOf({ ...full, start: 'never' }, true)).toMatchObject({
      active: true,
      schedule: { stop: { delayed: 14_400_000 } },
    })
  })

  test.each([
    ['UTC', '2026-01-15', 'Z'],
    ['Europe/Madrid', '2026-01-15', '+01:00'],
    ['Europe/Madrid', '2026-07-15', '+02:00'],
    ['Asia/Kolkata', '2026-07-15', '+05:30'],
    ['America/St_Johns', '2026-01-15', '-03:30'],
    ['America/St_Johns', '2026-07-15', '-02:30'],
  ])('runs at the hour that the clock of %s shows on %s', async (zone, day, offset) => {
    const { taskScheduleOf, full } = await drawnIn(zone)
    const now = Date.parse(`${day}T12:00:00Z`)
    vi.setSystemTime(now)
    const schedule = taskScheduleOf({ ...full, repeat: 'daily', time: '02:00' })
    expect(schedule).toEqual({ repeating: { pattern: { time: `02:00:00${offset}` } } })
    const read = parseTaskSchedule(schedule, now)
    if (!read.ok) throw new Error(JSON.stringify(read.problems))
    const next = new Date(nextOccurrence(read.value, now, false) ?? Number.NaN)
    expect([next.getHours(), next.getMinutes()]).toEqual([2, 0])
  })

  test.each(ZONES)('drawn in %s makes its first job when the plan of its next run says', async zone => {
    const { taskScheduleOf, plannedRequestOf, full, DAYS, MONTHS } = await drawnIn(zone)
    const { nextRunAt } = await import('../../src/console/views/launch/next-run.ts')
    const instant = fc.date({ min: new Date('2026-01-01'), max: new Date('2029-12-31'), noInvalidDate: true })
    const two = (number: number) => String(number).padStart(2, '0')
    const local = (at: Date) =>
      `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`
    fc.assert(
      fc.property(
        instant,
        fc.record({
          repeat: fc.constantFrom('once', 'period', 'daily', 'weekly', 'monthly'),
          start: fc.constantFrom('now', 'date'),
          startDate: instant.map(local),
          each: fc.integer({ min: 1, max: 40 }),
          unit: fc.constantFrom('SECONDS', 'MINUTES', 'HOURS', 'DAYS'),
          time: fc.tuple(fc.nat(23), fc.nat(59)).map(([hour, minute]) => `${two(hour)}:${two(minute)}`),
          days: fc.subarray([...DAYS], { minLength: 1 }),
          day: fc.integer({ min: 1, max: 28 }),
          months: fc.subarray([...MONTHS], { minLength: 1 }),
        }),
        (now, change) => {
          vi.setSystemTime(now)
          const draft: Draft = { ...full, ...(change as Partial<Draft>) }
          const read = parseTaskSchedule(taskScheduleOf(draft), now.getTime())
          if (!read.ok) throw new Error(JSON.stringify(read.problems))
          const first = firstOccurrence(read.value, now.getTime())
          const foretold = nextRunAt(draft, now.getTime())
          expect(foretold).toBe(first)
          expect(plannedRequestOf(draft, true, foretold).schedule).toEqual({
            start: { date: new Date(first ?? 0).toISOString() },
            stop: { delayed: 14_400_000 },
          })
        },
      ),
    )
  })

  test('says no next run while its time or its days are not told', async () => {
    const { full } = await drawnIn('UTC')
    const { nextRunAt } = await import('../../src/console/views/launch/next-run.ts')
    const now = Date.now()
    expect(nextRunAt({ ...full, repeat: 'daily', time: '' }, now)).toBeNull()
    expect(nextRunAt({ ...full, repeat: 'weekly', days: [] }, now)).toBeNull()
    expect(nextRunAt({ ...full, start: 'date', startDate: '' }, now)).toBeNull()
  })
})

describe('whom a draft is for', () => {
  test('is said in words: a list with its first, a tag, and conditions as they go together', async () => {
    const { full } = await drawnIn('UTC')
    const { wordsOfTarget } = await import('../../src/console/views/launch/target-words.ts')
    const words = (change: Partial<Draft>) => wordsOfTarget({ ...full, ...change })
    const list = Array.from({ length: 1_207 }, (_, number) => `pump-${number}`)
    expect(words({ list: [...list, 'pump-0'] })).toBe(
      'a list of 1,207: pump-0, pump-1, pump-2, pump-3, pump-4 and 1,202 more',
    )
    expect(words({ target: 'tag', tag: 'valve', resourceType: 'entity.device' })).toBe(
      'everything tagged valve of entity.device',
    )
    expect(words({ target: 'filter' })).toBe('everything the operation applies to')
    const conditions: Condition[] = [
      { id: 1, field: 'provision.device.model', operator: 'in', value: 'X1, X2' },
      { id: 2, field: 'provision.device.location', operator: 'missing', value: '' },
    ]
    expect(words({ target: 'filter', conditions, every: false })).toBe(
      'everything where provision.device.model is one of X1, X2 or provision.device.location is missing',
    )
  })
})
