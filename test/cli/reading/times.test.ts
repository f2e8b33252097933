/** How people write and read times on the command line. */
import { describe, expect, test } from 'vitest'
import { momentOf, readInstant, readSpan, shownInstant, shownSpan, windowOf } from '../../../src/cli/reading/times.ts'

const now = new Date('2026-03-02T10:30:00Z')

describe('times', () => {
  test.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
  ])('%s is a span', (text, ms) => {
    expect(readSpan(text)).toBe(ms)
  })

  test.each(['', '5', 'm', '5 m', '5m!', '-5m', '22:00'])('"%s" is no span', text => {
    expect(readSpan(text)).toBeUndefined()
  })

  test('a time of day is the next one', () => {
    expect(readInstant('22:00', now, true)?.toISOString()).toBe('2026-03-02T22:00:00.000Z')
    expect(readInstant('06:00', now, true)?.toISOString()).toBe('2026-03-03T06:00:00.000Z')
    expect(readInstant('24:00', now, true)).toBeUndefined()
  })

  test('an instant without an offset is local, or UTC if asked; one with an offset is what it says', () => {
    expect(readInstant('2026-03-02T22:00', now, true)?.toISOString()).toBe('2026-03-02T22:00:00.000Z')
    expect(readInstant('2026-03-02 22:00', now, false)?.getTime()).toBe(new Date(2026, 2, 2, 22).getTime())
    expect(readInstant('2026-03-02', now, true)?.toISOString()).toBe('2026-03-02T00:00:00.000Z')
    expect(readInstant('2026-03-02T22:00+02:00', now, true)?.toISOString()).toBe('2026-03-02T20:00:00.000Z')
  })

  test('a start is a span from then on, or an instant, and anything else names its option', () => {
    expect(momentOf('--start', '2h', now, true)).toEqual({ delayed: 7_200_000 })
    expect(momentOf('--start', '22:00', now, true)).toEqual({ date: '2026-03-02T22:00:00.000Z' })
    expect(() => momentOf('--start', 'soon', now, true)).toThrow('--start must be a time such as 2h')
  })

  test('people read instants to the second, with the offset of their zone or in UTC', () => {
    expect(shownInstant('2026-03-02T10:30:00.123Z', true)).toBe('2026-03-02 10:30:00Z')
    expect(shownInstant('2026-03-02T10:30:00.123Z', false)).toMatch(/^2026-03-0\d \d\d:\d\d:00 [+-]\d\d:\d\d$/)
    expect(shownInstant('', true)).toBe('')
  })

  test.each([
    [400, '400ms'],
    [61_000, '1m1s'],
    [90_061_000, '1d1h'],
    [3_600_000, '1h'],
  ])('%i ms are shown as %s', (ms, words) => {
    expect(shownSpan(ms)).toBe(words)
  })
})

describe('windows', () => {
  test('days are those named, with the days between the ends of a range; without days it is every day', () => {
    expect(windowOf(['MON-WED,sat 22:00-6:00', '12:00-13:00'], 'Europe/Madrid')).toEqual({
      weekly: [
        { days: ['MON', 'TUE', 'WED', 'SAT'], daily: { start: '22:00:00Z', stop: '06:00:00Z' } },
        { daily: { start: '12:00:00Z', stop: '13:00:00Z' } },
      ],
      timezone: 'Europe/Madrid',
    })
    expect(windowOf(['SUN-MON 01:00-02:00'], 'UTC')).toMatchObject({ weekly: [{ days: ['SUN', 'MON'] }] })
  })

  test.each(['night', 'MON 22:00', 'XYZ 22:00-06:00', 'MON-TUE-WED 22:00-06:00'])('"%s" is no window', text => {
    expect(() => windowOf([text], 'UTC')).toThrow('--window must be such as')
  })
})
