import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hourMs, minuteMs } from '../../src/domain/instants.ts'
import {
  FIRST_PLACE,
  type Launching,
  nextReachAt,
  type PlaceRange,
  placeReachedAt,
  reachedRanges,
} from '../../src/domain/launching.ts'
import { isOpen, parseWindow } from '../../src/domain/window.ts'

const launchAt = Date.parse('2026-03-02T10:00:00Z')
const read = parseWindow({ weekly: [{ daily: { start: '11:00:00Z', stop: '13:00:00Z' } }] })
if (!read.ok) throw new Error('the window of the test is not valid')

/** A launching, with or without a window and an overdue lane. */
const launchings: fc.Arbitrary<Launching> = fc
  .record({
    places: fc.integer({ min: 1, max: 60 }),
    spreadMs: fc.integer({ min: 0, max: 6 * hourMs }),
    windowed: fc.boolean(),
    overdue: fc.option(
      fc.record({
        at: fc.integer({ min: 0, max: 30 * hourMs }),
        spreadMs: fc.integer({ min: 0, max: 6 * hourMs }),
        share: fc.integer({ min: 0, max: 100 }),
      }),
      { nil: null },
    ),
  })
  .map(({ places, spreadMs, windowed, overdue }) => ({
    places,
    spreadMs,
    launchAt,
    window: windowed && read.ok ? read.value : undefined,
    overdue: overdue && {
      from: Math.floor((places * overdue.share) / 200),
      places: Math.max(1, Math.ceil((places * overdue.share) / 100)),
      at: launchAt + overdue.at,
      spreadMs: overdue.spreadMs,
    },
  }))

test('the instant named for a place is the one from which it is in a reached range', () => {
  fc.assert(
    fc.property(launchings, fc.nat({ max: 59 }), fc.integer({ min: 0, max: 2_000 }), (launching, k, step) => {
      const place = k % launching.places
      const at = placeReachedAt(launching, place)
      // An overdue lane is asked about from its opening on.
      const now = (launching.overdue?.at ?? launchAt) + step * minuteMs
      const inRange = (instant: number) =>
        reachedRanges(launching, instant).some(({ low, reached }) => place >= low && place < reached)
      expect(isOpen(launching.window, at)).toBe(true)
      expect(inRange(at)).toBe(true)
      expect(inRange(now)).toBe(isOpen(launching.window, now) && now >= at)
    }),
  )
})

test('the first place, where retries wait, is reached as soon as anything is', () => {
  fc.assert(
    fc.property(launchings, launching => {
      expect(reachedRanges(launching, placeReachedAt(launching, FIRST_PLACE))[0]).toEqual({ low: 0, reached: 1 })
    }),
  )
})

const window = (start: string, stop: string) => {
  const read = parseWindow({ weekly: [{ daily: { start, stop } }] })
  if (!read.ok) throw new Error('not a window')
  return read.value
}
const job = (over: Partial<Launching> = {}): Launching => ({
  places: 100,
  spreadMs: hourMs,
  launchAt,
  window: undefined,
  overdue: null,
  ...over,
})
/** How many places may be claimed. */
const reachable = (ranges: readonly PlaceRange[]) => ranges.reduce((sum, { low, reached }) => sum + reached - low, 0)

const anyLaunching = fc
  .record({
    places: fc.integer({ min: 1, max: 5_000 }),
    spreadMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20 * hourMs })),
    window: fc.constantFrom(undefined, window('09:00:00Z', '12:00:00Z'), window('22:00:00Z', '06:00:00Z')),
    overdue: fc.option(
      fc.record({
        share: fc.double({ min: 0, max: 1, noNaN: true }),
        from: fc.double({ min: 0, max: 1, noNaN: true }),
        afterMs: fc.integer({ min: 0, max: 10 * hourMs }),
        spreadMs: fc.integer({ min: 0, max: 10 * hourMs }),
      }),
    ),
  })
  .map(({ places, spreadMs, window: open, overdue }) => {
    const until = overdue && Math.floor(overdue.share * places)
    return job({
      places,
      spreadMs,
      window: open,
      overdue:
        overdue && until
          ? {
              places: until,
              from: Math.floor(overdue.from * until),
              at: launchAt + overdue.afterMs,
              spreadMs: overdue.spreadMs,
            }
          : null,
    })
  })
const instant = fc.integer({ min: -2 * hourMs, max: 60 * hourMs }).map(ms => launchAt + ms)

describe('what of a job may be claimed', () => {
  test('nothing before the launch', () => {
    expect(reachedRanges(job(), launchAt - 1)).toEqual([])
    expect(nextReachAt(job(), launchAt - 1)).toBe(launchAt)
  })

  test('nothing while the window is closed; the next opening brings more', () => {
    const closed = job({ window: window('12:00:00Z', '14:00:00Z') })
    expect(reachedRanges(closed, launchAt + hourMs)).toEqual([])
    expect(nextReachAt(closed, launchAt + hourMs)).toBe(launchAt + 2 * hourMs)
  })

  test('without a spread everything at once, and nothing more comes', () => {
    expect(reachable(reachedRanges(job({ spreadMs: 0 }), launchAt))).toBe(100)
    expect(nextReachAt(job({ spreadMs: 0 }), launchAt)).toBeNull()
  })

  test('half of the spread reaches half of the places, and one more', () => {
    expect(reachedRanges(job(), launchAt + hourMs / 2)).toEqual([
      { low: 0, reached: 1 },
      { low: 1, reached: 51 },
    ])
    expect(nextReachAt(job(), launchAt + hourMs / 2)).toBe(launchAt + (hourMs * 51) / 100)
  })

  test('what became overdue has a lane of its own, beside what comes in its time', () => {
    const overdue = { from: 20, places: 50, at: launchAt + hourMs / 2, spreadMs: hourMs / 2 }
    expect(reachedRanges(job({ overdue }), launchAt + hourMs / 2)).toEqual([
      { low: 0, reached: 1 },
      { low: 1, reached: 21 },
      { low: 50, reached: 51 },
    ])
    expect(reachedRanges(job({ overdue }), launchAt + hourMs)).toEqual([
      { low: 0, reached: 1 },
      { low: 1, reached: 50 },
      { low: 50, reached: 100 },
    ])
  })
})

describe('from one instant to the next', () => {
  test('ranges are at most three, in order, apart, inside the places, and begin with the first place', () => {
    fc.assert(
      fc.property(anyLaunching, instant, (launching, now) => {
        const ranges = reachedRanges(launching, now)
        expect(ranges.length).toBeLessThanOrEqual(3)
        if (ranges.length > 0) expect(ranges[0]).toEqual({ low: FIRST_PLACE, reached: FIRST_PLACE + 1 })
        for (const [i, { low, reached }] of ranges.entries()) {
          expect(low).toBeLessThan(reached)
          expect(low).toBeGreaterThanOrEqual(i === 0 ? 0 : ranges[i - 1]!.reached)
          expect(reached).toBeLessThanOrEqual(launching.places)
        }
      }),
    )
  })

  test('from one open instant to a later one, nothing that was reached is taken back', () => {
    fc.assert(
      fc.property(anyLaunching, instant, instant, (launching, one, other) => {
        const [earlier, later] = [Math.min(one, other), Math.max(one, other)].map(at => reachedRanges(launching, at))
        fc.pre(earlier!.length > 0 && later!.length > 0)
        expect(reachable(later!)).toBeGreaterThanOrEqual(reachable(earlier!))
      }),
    )
  })

  test('more is reached at the instant that is said to bring more, and not a millisecond earlier', () => {
    fc.assert(
      fc.property(anyLaunching, instant, (launching, now) => {
        const at = nextReachAt(launching, now)
        fc.pre(at !== null)
        expect(at).toBeGreaterThan(now)
        const before = reachable(reachedRanges(launching, now))
        expect(reachable(reachedRanges(launching, at! - 1))).toBeLessThanOrEqual(before)
      }),
    )
  })

  test('when no more is said to come, every place has been reached', () => {
    fc.assert(
      fc.property(anyLaunching, instant, (launching, now) => {
        fc.pre(nextReachAt(launching, now) === null)
        expect(reachable(reachedRanges(launching, now))).toBe(launching.places)
      }),
    )
  })

  test('walking from one such instant to the next reaches every place', () => {
    fc.assert(
      fc.property(anyLaunching, launching => {
        fc.pre(launching.places <= 200)
        let now = launchAt - 1
        for (let at = nextReachAt(launching, now); at !== null; at = nextReachAt(launching, now)) now = at
        expect(reachable(reachedRanges(launching, now))).toBe(launching.places)
      }),
      { numRuns: 30 },
    )
  })
})
