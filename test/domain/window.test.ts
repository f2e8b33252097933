import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import { dayMs, hourMs, type Instant, minuteMs, weekdays } from '../../src/domain/instants.ts'
import {
  advance,
  isOpen,
  nextClosing,
  nextOpening,
  occurrences,
  openTimeBetween,
  parseWindow,
  type Window,
} from '../../src/domain/window.ts'

function windowOf(json: unknown): Window {
  const read = parseWindow(json)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.value
}

function problemsOf(json: unknown): string[] {
  const read = parseWindow(json)
  return read.ok ? [] : read.problems.map(({ path, message }) => `${path} ${message}`)
}

const at = (text: string): Instant => Date.parse(text)
const runs = (window: Window | undefined, from: string, to: string): string[] =>
  occurrences(window, at(from), at(to)).map(
    ({ opensAt, closesAt }) => `${new Date(opensAt).toISOString()}/${new Date(closesAt).toISOString()}`,
  )

const nights = windowOf({ weekly: [{ days: ['MON', 'TUE'], daily: { start: '22:00:00Z', stop: '06:00:00Z' } }] })

describe('reading a window', () => {
  it('opens on the days named and closes on the next day where the stop is before the start', () => {
    expect(runs(nights, '2026-06-01T00:00:00Z', '2026-06-08T00:00:00Z')).toEqual([
      '2026-06-01T22:00:00.000Z/2026-06-02T06:00:00.000Z',
      '2026-06-02T22:00:00.000Z/2026-06-03T06:00:00.000Z',
    ])
  })

  it('goes over the end of the week', () => {
    const sunday = windowOf({ days: ['SUN'], start: '20:00:00Z', stop: '04:00:00Z' })
    expect(runs(sunday, '2026-06-07T00:00:00Z', '2026-06-09T00:00:00Z')).toEqual([
      '2026-06-07T20:00:00.000Z/2026-06-08T04:00:00.000Z',
    ])
  })

  it('takes the flat form as one entry and reads it back as one', () => {
    const flat = windowOf({ days: ['SAT'], start: '09:30:00Z', stop: '15:30:00Z' })
    expect(flat.source).toEqual({ weekly: [{ days: ['SAT'], daily: { start: '09:30:00Z', stop: '15:30:00Z' } }] })
    expect(windowOf(flat.source)).toEqual(flat)
  })

  it('means every day where no days are given, and 24 hours where start and stop are equal', () => {
    expect(
      runs(windowOf({ start: '09:00:00Z', stop: '15:00:00Z' }), '2026-06-01T00:00:00Z', '2026-06-08T00:00:00Z'),
    ).toHaveLength(7)
    const saturday = windowOf({ days: ['SAT'], start: '00:00:00Z', stop: '00:00:00Z' })
    expect(runs(saturday, '2026-06-01T00:00:00Z', '2026-06-08T00:00:00Z')).toEqual([
      '2026-06-06T00:00:00.000Z/2026-06-07T00:00:00.000Z',
    ])
    const always = windowOf({ start: '09:00:00Z', stop: '09:00:00Z' })
    expect(nextClosing(always, at('2026-06-01T00:00:00Z'))).toBeNull()
  })

  it('honours offsets: the day is that of the clock on which the start is written', () => {
    const entry = windowOf({ days: ['MON'], start: '01:00:00+02:00', stop: '05:00:00Z' })
    expect(runs(entry, '2026-06-01T00:00:00Z', '2026-06-09T00:00:00Z')).toEqual([
      '2026-06-01T00:00:00.000Z/2026-06-01T05:00:00.000Z',
      '2026-06-07T23:00:00.000Z/2026-06-08T05:00:00.000Z',
    ])
  })

  it('counts overlapping and adjoining entries once', () => {
    const entries = windowOf({
      weekly: [
        { days: ['MON'], daily: { start: '08:00:00Z', stop: '12:00:00Z' } },
        { days: ['MON'], daily: { start: '10:00:00Z', stop: '14:00:00Z' } },
        { days: ['MON'], daily: { start: '14:00:00Z', stop: '15:00:00Z' } },
      ],
    })
    expect(runs(entries, '2026-06-01T00:00:00Z', '2026-06-02T00:00:00Z')).toEqual([
      '2026-06-01T08:00:00.000Z/2026-06-01T15:00:00.000Z',
    ])
  })

  it('reads times as local to its time zone, whose name it accepts in any case', () => {
    const madrid = windowOf({
      weekly: [{ daily: { start: '22:00:00Z', stop: '23:00:00' } }],
      timezone: 'europe/madrid',
    })
    expect(madrid.source.timezone).toBe('Europe/Madrid')
    expect(isOpen(madrid, at('2026-01-15T21:00:00Z'))).toBe(true)
    expect(isOpen(madrid, at('2026-07-15T21:00:00Z'))).toBe(false)
    expect(isOpen(madrid, at('2026-07-15T20:00:00Z'))).toBe(true)
  })
})

describe('refusing a window', () => {
  it.each([
    ['no object', 'always', 'window must be an object'],
    ['nothing', undefined, 'window is required'],
    ['no start', { stop: '06:00:00Z' }, 'window.start is required'],
    ['an unknown member', { start: '01:00:00Z', stop: '02:00:00Z', Days: [] }, 'window.Days is unknown'],
    [
      'both forms',
      { weekly: [{ daily: { start: '01:00:00Z', stop: '02:00:00Z' } }], days: ['MON'] },
      'window.days is unknown',
    ],
    ['no entry', { weekly: [] }, 'window.weekly must be an array'],
    ['an entry without times', { weekly: [{ days: ['MON'] }] }, 'window.weekly[0].daily is required'],
    ['no day', { days: [], start: '01:00:00Z', stop: '02:00:00Z' }, 'window.days must be an array of 1 to 7'],
    [
      'a day misspelt',
      { days: ['MON', 'mon'], start: '01:00:00Z', stop: '02:00:00Z' },
      'window.days[1] must be one of MON',
    ],
    ['half hours', { start: '09:00:00Z', stop: '15:30:00Z' }, 'window.stop must lie a whole number of hours after'],
    ['half hours by offset', { start: '09:00:00Z', stop: '15:00:00+05:30' }, 'window.stop must lie a whole number'],
    ['an impossible time', { start: '24:00:00Z', stop: '02:00:00Z' }, 'window.start must be a time of day'],
    ['a time without a clock', { start: '01:00:00', stop: '02:00:00Z' }, 'window.start must end in Z or an offset'],
    [
      'an offset beside a zone',
      { start: '01:00:00+02:00', stop: '02:00:00', timezone: 'Europe/Madrid' },
      'window.start must not carry',
    ],
    [
      'an unknown zone',
      { start: '01:00:00', stop: '02:00:00', timezone: 'Europe/Atlantis' },
      'window.timezone must be an IANA',
    ],
    [
      'an offset as zone',
      { start: '01:00:00', stop: '02:00:00', timezone: '+02:00' },
      'window.timezone must be an IANA',
    ],
  ])('names the field: %s', (_, json, expected) => {
    const problems = problemsOf(json)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(expected)
  })

  it('names every field that is wrong, at its place', () => {
    const entry = { daily: { start: 7, stop: '02:00:00Z' } }
    expect(problemsOf({ weekly: [entry, { days: 'MON', daily: { start: '01:00:00Z', stop: '02:10:00Z' } }] })).toEqual([
      expect.stringContaining('window.weekly[0].daily.start '),
      expect.stringContaining('window.weekly[1].days '),
    ])
  })
})

describe('a window through a change of summer time', () => {
  const lengths = (timezone: string, start: string, stop: string, from: string, to: string): number[] =>
    occurrences(windowOf({ start, stop, timezone }), at(from), at(to)).map(run => (run.closesAt - run.opensAt) / hourMs)

  it('is an hour shorter in the night in which the clock skips one, in Madrid', () => {
    expect(lengths('Europe/Madrid', '22:00:00', '06:00:00', '2026-03-27T12:00:00Z', '2026-03-30T12:00:00Z')).toEqual([
      8, 7, 8,
    ])
  })

  it('is an hour longer in the night in which the clock shows one twice, in New York', () => {
    expect(lengths('America/New_York', '22:00:00', '06:00:00', '2026-10-30T16:00:00Z', '2026-11-02T16:00:00Z')).toEqual(
      [8, 9, 8],
    )
  })

  it('turns the other way round in the south, in Santiago', () => {
    const from = '2026-04-02T12:00:00Z'
    expect(lengths('America/Santiago', '20:00:00', '04:00:00', from, '2026-04-06T12:00:00Z')).toEqual([8, 8, 9, 8])
    expect(lengths('America/Santiago', '20:00:00', '04:00:00', '2026-09-04T12:00:00Z', '2026-09-07T12:00:00Z')).toEqual(
      [8, 7, 8],
    )
  })

  it('does not open on the day on which the clock skips all of it', () => {
    const window = windowOf({ start: '02:00:00', stop: '03:00:00', timezone: 'Europe/Madrid' })
    expect(runs(window, '2026-03-28T00:00:00Z', '2026-03-31T00:00:00Z')).toEqual([
      '2026-03-28T01:00:00.000Z/2026-03-28T02:00:00.000Z',
      '2026-03-30T00:00:00.000Z/2026-03-30T01:00:00.000Z',
    ])
  })

  it('is open both times in an hour that the clock shows twice', () => {
    const window = windowOf({ start: '01:30:00', stop: '02:30:00', timezone: 'Europe/Madrid' })
    expect(runs(window, '2026-10-25T00:00:00Z', '2026-10-25T12:00:00Z')).toEqual([
      '2026-10-25T00:00:00.000Z/2026-10-25T00:30:00.000Z',
      '2026-10-25T01:00:00.000Z/2026-10-25T01:30:00.000Z',
    ])
  })

  it.each(['Europe/Madrid', 'America/New_York', 'America/Santiago', 'Australia/Lord_Howe'])(
    'opens at the same local times all month, in both months of change, in %s',
    zone => {
      const window = windowOf({ days: ['MON', 'WED', 'SUN'], start: '04:00:00', stop: '09:00:00', timezone: zone })
      for (const month of ['2026-03', '2026-04', '2026-09', '2026-10', '2026-11']) {
        const from = at(`${month}-01T14:00:00Z`)
        const found = occurrences(window, from, from + 28 * dayMs)
        expect(found).toHaveLength(12)
        for (const { opensAt, closesAt } of found) {
          const [opens, closes] = [opensAt, closesAt].map(instant =>
            Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone),
          )
          expect(opens?.toPlainTime().toString()).toBe('04:00:00')
          expect(closes?.toPlainTime().toString()).toBe('09:00:00')
        }
      }
    },
  )
})

describe('no window', () => {
  it('is always open, and all time is open time', () => {
    expect(isOpen(undefined, 5)).toBe(true)
    expect(nextOpening(undefined, 5)).toBe(5)
    expect(nextClosing(undefined, 5)).toBeNull()
    expect(openTimeBetween(undefined, 5, 12)).toBe(7)
    expect(openTimeBetween(undefined, 12, 5)).toBe(0)
    expect(advance(undefined, 5, 7)).toBe(12)
    expect(occurrences(undefined, 5, 12)).toEqual([{ opensAt: 5, closesAt: 12 }])
  })
})

const zones = ['Europe/Madrid', 'America/New_York', 'America/Santiago', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC']
const quarterMs = 15 * minuteMs
const two = (value: number): string => String(value).padStart(2, '0')

type Spec = {
  readonly zone: string | null
  readonly entries: readonly { days: readonly string[]; hour: number; minute: number; hours: number; offset: number }[]
}

const spec: fc.Arbitrary<Spec> = fc.record({
  zone: fc.option(fc.constantFrom(...zones)),
  entries: fc.array(
    fc.record({
      days: fc.subarray([...weekdays], { minLength: 1 }),
      hour: fc.integer({ min: 0, max: 23 }),
      minute: fc.constantFrom(0, 15, 30),
      hours: fc.integer({ min: 1, max: 24 }),
      offset: fc.constantFrom(0, 0, 120, -330, 765),
    }),
    { minLength: 1, maxLength: 4 },
  ),
})

function build({ zone, entries }: Spec): Window {
  const suffix = (offset: number): string =>
    zone !== null
      ? ''
      : `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
  return windowOf({
    weekly: entries.map(({ days, hour, minute, hours, offset }) => ({
      days,
      daily: {
        start: `${two(hour)}:${two(minute)}:00${suffix(offset)}`,
        stop: `${two((hour + hours) % 24)}:${two(minute)}:00${suffix(offset)}`,
      },
    })),
    ...(zone === null ? {} : { timezone: zone }),
  })
}

/** The oracle: what the clock shows at this instant, looked up in each entry by hand. */
function clockSaysOpen({ zone, entries }: Spec, instant: Instant): boolean {
  const shown = Temporal.Instant.fromEpochMilliseconds(instant)
    .toZonedDateTimeISO(zone ?? 'UTC')
    .toPlainDateTime()
  return entries.some(({ days, hour, minute, hours, offset }) => {
    const local = zone === null ? shown.add({ minutes: offset }) : shown
    const minutes = local.hour * 60 + local.minute - (hour * 60 + minute)
    const today = weekdays[local.dayOfWeek - 1]!
    const yesterday = weekdays[(local.dayOfWeek + 5) % 7]!
    return (
      (days.includes(today) && minutes >= 0 && minutes < hours * 60) ||
      (days.includes(yesterday) && minutes + 24 * 60 < hours * 60)
    )
  })
}

/** Instants near the changes of summer time, where mistakes live, and anywhere in the years around. */
const instant: fc.Arbitrary<Instant> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('2026-03-08', '2026-03-29', '2026-04-05', '2026-09-06', '2026-10-04', '2026-10-25', '2026-11-01'),
      fc.integer({ min: -36 * 60, max: 36 * 60 }),
    )
    .map(([day, minutes]) => at(`${day}T00:00:00Z`) + minutes * minuteMs),
  fc
    .integer({ min: at('2024-01-01T00:00:00Z') / minuteMs, max: at('2030-01-01T00:00:00Z') / minuteMs })
    .map(m => m * minuteMs),
)
const millisecond = fc.tuple(instant, fc.integer({ min: 0, max: minuteMs - 1 })).map(([minute, ms]) => minute + ms)

describe('what always holds of a window', () => {
  it('is open exactly when its clock says so in one of its entries', () => {
    fc.assert(
      fc.property(spec, millisecond, (shape, moment) => {
        expect(isOpen(build(shape), moment)).toBe(clockSaysOpen(shape, moment))
      }),
      { numRuns: 1000 },
    )
  })

  it('has as much open time between two instants as quarters of an hour counted one by one', () => {
    fc.assert(
      fc.property(spec, instant, fc.integer({ min: 0, max: 36 * 4 }), (shape, near, quarters) => {
        const from = near - (near % quarterMs)
        let openMs = 0
        for (let quarter = 0; quarter < quarters; quarter += 1) {
          if (clockSaysOpen(shape, from + quarter * quarterMs)) openMs += quarterMs
        }
        expect(openTimeBetween(build(shape), from, from + quarters * quarterMs)).toBe(openMs)
      }),
      { numRuns: 200 },
    )
  })

  it('opens and closes where it says, and not before', () => {
    fc.assert(
      fc.property(spec, millisecond, (shape, moment) => {
        const window = build(shape)
        const opensAt = nextOpening(window, moment)
        expect(opensAt).toBeGreaterThanOrEqual(moment)
        expect(isOpen(window, opensAt)).toBe(true)
        expect(openTimeBetween(window, moment, opensAt)).toBe(0)
        const closesAt = nextClosing(window, opensAt)
        if (closesAt === null) return
        expect(isOpen(window, closesAt)).toBe(false)
        expect(openTimeBetween(window, opensAt, closesAt)).toBe(closesAt - opensAt)
      }),
      { numRuns: 500 },
    )
  })

  it('advances by exactly the open time asked for, and to the earliest such instant', () => {
    fc.assert(
      fc.property(spec, millisecond, fc.integer({ min: 1, max: 400 * dayMs }), (shape, from, openMs) => {
        const window = build(shape)
        const reached = advance(window, from, openMs)
        expect(openTimeBetween(window, from, reached)).toBe(openMs)
        expect(openTimeBetween(window, from, reached - 1)).toBe(openMs - 1)
      }),
      { numRuns: 500 },
    )
  })

  it('comes back from an open instant by measuring and advancing', () => {
    fc.assert(
      fc.property(spec, millisecond, millisecond, (shape, one, other) => {
        const window = build(shape)
        const [from, to] = [Math.min(one, other), nextOpening(window, Math.max(one, other)) + 1]
        expect(advance(window, from, openTimeBetween(window, from, to))).toBe(to)
      }),
      { numRuns: 500 },
    )
  })

  it('has occurrences that are apart, in order, within the span, and together all of its open time', () => {
    fc.assert(
      fc.property(spec, millisecond, fc.integer({ min: 0, max: 40 * dayMs }), (shape, from, spanMs) => {
        const window = build(shape)
        const found = occurrences(window, from, from + spanMs)
        let endAt = from - 1
        let openMs = 0
        for (const { opensAt, closesAt } of found) {
          expect(opensAt).toBeGreaterThan(endAt)
          expect(closesAt).toBeGreaterThan(opensAt)
          endAt = closesAt
          openMs += closesAt - opensAt
        }
        expect(endAt).toBeLessThanOrEqual(from + spanMs)
        expect(openMs).toBe(openTimeBetween(window, from, from + spanMs))
      }),
      { numRuns: 300 },
    )
  })

  it('ends every search, also centuries away', () => {
    const window = windowOf({ days: ['SUN'], start: '02:00:00', stop: '03:00:00', timezone: 'Europe/Madrid' })
    const farAt = advance(window, at('1900-01-01T00:00:00Z'), 10_000 * hourMs)
    expect(openTimeBetween(window, at('1900-01-01T00:00:00Z'), farAt)).toBe(10_000 * hourMs)
    expect(nextOpening(window, at('2500-01-01T00:00:00Z'))).toBeGreaterThan(at('2500-01-01T00:00:00Z'))
  })
})
