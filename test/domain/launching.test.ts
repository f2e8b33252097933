import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hourMs, minuteMs } from '../../src/domain/instants.ts'
import { FIRST_PLACE, type Launching, placeReachedAt, reachedRanges } from '../../src/domain/launching.ts'
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
