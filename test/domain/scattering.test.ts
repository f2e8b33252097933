import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayMs, hourMs, type Instant, minuteMs } from '../../src/domain/instants.ts'
import {
  drainReserve,
  dueAt,
  effectiveTime,
  nextPlaceAt,
  parseScattering,
  placesReached,
  scatteringWarnings,
  spread,
  spreadLeft,
} from '../../src/domain/scattering.ts'
import { isOpen, openTimeBetween, parseWindow, type Window } from '../../src/domain/window.ts'

const at = (text: string): Instant => Date.parse(text)

function windowOf(json: unknown): Window {
  const read = parseWindow(json)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.value
}

const nights = windowOf({ start: '22:00:00Z', stop: '06:00:00Z' })
const noon = at('2026-06-01T12:00:00Z')

describe('reading scattering', () => {
  it('fills in the defaults: nothing is spread, and groups are not taken apart', () => {
    expect(parseScattering({})).toEqual({
      ok: true,
      value: { maxSpread: 0, strategy: null, warningMaxRate: null, source: { maxSpread: 0 } },
    })
    expect(parseScattering({ strategy: { field: 'subscription.collected.cellInfo' } })).toMatchObject({
      value: { strategy: { factor: 0 } },
    })
  })

  it('takes numbers as text, and reads them back as numbers', () => {
    const strategy = { field: 'subscription.collected.cellInfo', factor: '75', warningMaxRate: '3.5' }
    expect(parseScattering({ maxSpread: '20', strategy })).toMatchObject({
      value: {
        maxSpread: 20,
        warningMaxRate: 3.5,
        source: {
          maxSpread: 20,
          strategy: { field: 'subscription.collected.cellInfo', factor: 75, warningMaxRate: 3.5 },
        },
      },
    })
  })

  it('takes the maximum rate beside the strategy as well as in it', () => {
    expect(parseScattering({ warningMaxRate: 3, strategy: null })).toMatchObject({
      value: { warningMaxRate: 3, strategy: null, source: { warningMaxRate: 3 } },
    })
  })

  it.each([
    ['more than all', { maxSpread: 101 }, 'scattering.maxSpread'],
    ['less than nothing', { maxSpread: -1 }, 'scattering.maxSpread'],
    ['a fraction', { maxSpread: 20.5 }, 'scattering.maxSpread'],
    ['no number', { maxSpread: 'much' }, 'scattering.maxSpread'],
    ['a strategy misspelt', { Strategy: {} }, 'scattering.Strategy'],
    ['a strategy without field', { strategy: { factor: 3 } }, 'scattering.strategy.field'],
    ['another field', { strategy: { field: 'provision.device.model' } }, 'scattering.strategy.field'],
    ['an unknown member', { strategy: { field: 'subscription.collected.cellInfo', f: 1 } }, 'scattering.strategy.f'],
    [
      'a factor too large',
      { strategy: { field: 'subscription.collected.cellInfo', factor: 101 } },
      'scattering.strategy.factor',
    ],
    ['a rate of nothing', { warningMaxRate: 0 }, 'scattering.warningMaxRate'],
    [
      'two rates',
      { warningMaxRate: 2, strategy: { field: 'subscription.collected.cellInfo', warningMaxRate: 3 } },
      'scattering.warningMaxRate',
    ],
  ])('names the field: %s', (_, json, path) => {
    const read = parseScattering(json)
    expect(read.ok ? [] : read.problems.map(problem => problem.path)).toEqual([path])
  })
})

describe('the spread', () => {
  it('rests on all window time between launch and stop', () => {
    expect(effectiveTime(nights, noon, noon + 3 * dayMs)).toBe(24 * hourMs)
    expect(effectiveTime(undefined, noon, noon + hourMs)).toBe(hourMs)
    expect(effectiveTime(nights, noon, noon - hourMs)).toBe(0)
  })

  it('rests on the first window occurrence where there is no stop, or on what is left of it', () => {
    expect(effectiveTime(nights, noon, null)).toBe(8 * hourMs)
    expect(effectiveTime(nights, at('2026-06-01T05:00:00Z'), null)).toBe(hourMs)
  })

  it('takes a window that never closes for occurrences of 24 hours', () => {
    expect(effectiveTime(windowOf({ start: '00:00:00Z', stop: '00:00:00Z' }), noon, null)).toBe(24 * hourMs)
  })

  it('is nothing without window and stop: as fast as possible', () => {
    expect(effectiveTime(undefined, noon, null)).toBe(0)
  })

  it('keeps free what the last operations may take, at most half', () => {
    expect(drainReserve(hourMs, 5 * minuteMs, minuteMs)).toBe(6 * minuteMs)
    expect(drainReserve(10 * minuteMs, 5 * minuteMs, minuteMs)).toBe(5 * minuteMs)
    expect(spread(hourMs, 6 * minuteMs, 50)).toBe(27 * minuteMs)
    expect(spread(hourMs, 6 * minuteMs, 0)).toBe(0)
  })
})

describe('places', () => {
  it('come evenly over the spread, along open window time', () => {
    const places = [0, 1, 2, 3].map(k => new Date(dueAt(k, 4, 16 * hourMs, noon, nights)).toISOString())
    expect(places).toEqual([
      '2026-06-01T22:00:00.000Z',
      '2026-06-02T02:00:00.000Z',
      // 8 hours of open time have passed when the window closes; it is due when the window opens again.
      '2026-06-02T22:00:00.000Z',
      '2026-06-03T02:00:00.000Z',
    ])
  })

  it('have all been reached at once without a spread, and none before the launch', () => {
    expect(placesReached(0, 1000, noon, undefined, noon)).toBe(1000)
    expect(placesReached(0, 1000, noon, undefined, noon - 1)).toBe(0)
    expect(nextPlaceAt(0, 1000, noon, nights, noon - 1)).toBe(at('2026-06-01T22:00:00Z'))
    expect(nextPlaceAt(0, 1000, noon, nights, noon)).toBeNull()
  })

  it('that came due in an outage are spread anew over what is left of the spread', () => {
    const resumedAt = noon + 6 * hourMs
    const overdue = placesReached(8 * hourMs, 800, noon, undefined, resumedAt) - 1
    expect(overdue).toBe(600)
    const left = spreadLeft(8 * hourMs, noon, undefined, resumedAt)
    expect(left).toBe(2 * hourMs)
    expect(placesReached(left, overdue, resumedAt, undefined, resumedAt)).toBe(1)
    expect(placesReached(left, overdue, resumedAt, undefined, resumedAt + hourMs)).toBe(301)
    expect(placesReached(left, overdue, resumedAt, undefined, resumedAt + 2 * hourMs)).toBe(600)
    expect(spreadLeft(8 * hourMs, noon, undefined, noon + dayMs)).toBe(0)
  })

  const shape = fc.record({
    window: fc.constantFrom(
      undefined,
      nights,
      windowOf({ days: ['SUN', 'MON'], start: '01:30:00', stop: '04:30:00', timezone: 'America/New_York' }),
    ),
    spreadMs: fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: 3650 * dayMs })),
    count: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 5_000_000 })),
    launchAt: fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2027-01-01T00:00:00Z') }),
    share: fc.double({ min: 0, max: 1.1, noNaN: true }),
  })

  it('are reached exactly when they are due', () => {
    fc.assert(
      fc.property(shape, ({ window, spreadMs, count, launchAt, share }) => {
        const k = Math.min(count - 1, Math.floor(share * count))
        const due = dueAt(k, count, spreadMs, launchAt, window)
        expect(isOpen(window, due)).toBe(true)
        expect(placesReached(spreadMs, count, launchAt, window, due)).toBeGreaterThan(k)
        const before = due - 1
        if (before >= launchAt && isOpen(window, before)) {
          expect(placesReached(spreadMs, count, launchAt, window, before)).toBeLessThanOrEqual(k)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('are all due within the spread, in order, and the next one is never in the past', () => {
    fc.assert(
      fc.property(shape, ({ window, spreadMs, count, launchAt, share }) => {
        const last = dueAt(count - 1, count, spreadMs, launchAt, window)
        expect(openTimeBetween(window, launchAt, last)).toBeLessThanOrEqual(spreadMs)
        const now = Math.floor(launchAt + share * (last - launchAt))
        const reached = placesReached(spreadMs, count, launchAt, window, now)
        const nextAt = nextPlaceAt(spreadMs, count, launchAt, window, now)
        if (nextAt === null) expect(reached).toBe(count)
        else {
          expect(nextAt).toBeGreaterThan(now)
          expect(nextAt).toBeLessThanOrEqual(last)
        }
      }),
      { numRuns: 1000 },
    )
  })
})

describe('warnings', () => {
  it('name the rate and its maximum where the spread is too short for it', () => {
    expect(scatteringWarnings(600, minuteMs, 5)).toEqual([{ code: 'rate-above-maximum', rate: 10, maximum: 5 }])
    expect(scatteringWarnings(300, minuteMs, 5)).toEqual([])
    expect(scatteringWarnings(600, minuteMs, null)).toEqual([])
  })

  it('say that the rate is unlimited where nothing is spread', () => {
    expect(scatteringWarnings(2, 0, 5)).toEqual([{ code: 'rate-above-maximum', rate: null, maximum: 5 }])
    expect(scatteringWarnings(0, 0, 5)).toEqual([])
  })
})
