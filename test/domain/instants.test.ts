import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readInstant, readTimeOfDay, writeInstant, writeTimeOfDay } from '../../src/domain/instants.ts'

describe('timestamps', () => {
  it.each([
    ['2026-11-21T02:30:40+00:00', '2026-11-21T02:30:40.000Z'],
    ['2026-11-21T02:30:40Z', '2026-11-21T02:30:40.000Z'],
    ['2026-11-21T02:30:40', '2026-11-21T02:30:40.000Z'],
    ['2026-11-21T02:30:40.1234567+0530', '2026-11-20T21:00:40.123Z'],
    ['2026-11-21t23:30:40-05', '2026-11-22T04:30:40.000Z'],
    ['2028-02-29T00:00:00z', '2028-02-29T00:00:00.000Z'],
  ])('reads %s as %s', (text, written) => {
    expect(writeInstant(readInstant(text)?.at ?? Number.NaN)).toBe(written)
  })

  it.each([
    '',
    '2026-11-21',
    '2027-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:60:00Z',
    '2026-01-01T23:59:60Z',
    '2026-01-01T10:00Z',
    '2026-01-01T10:00:00+24:00',
    '1969-12-31T23:59:59Z',
    '2200-01-01T00:00:00Z',
    '2026-01-01 10:00:00Z',
    ' 2026-01-01T10:00:00Z',
    '2026-01-01T10:00:00Europe/Madrid',
  ])('refuses "%s"', text => {
    expect(readInstant(text)).toBeUndefined()
  })

  it('reads what it writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(2200, 0, 1) - 1 }), at => {
        expect(readInstant(writeInstant(at))?.at).toBe(at)
      }),
    )
  })

  it('agrees with the platform on every timestamp with an offset', () => {
    const two = (value: number): string => String(value).padStart(2, '0')
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1971-01-01'), max: new Date('2199-01-01'), noInvalidDate: true }),
        fc.integer({ min: -23 * 60, max: 23 * 60 }),
        (date, offset) => {
          const sign = offset < 0 ? '-' : '+'
          const distance = `${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
          const text = date.toISOString().replace('Z', distance)
          expect(readInstant(text)?.at).toBe(Date.parse(text))
        },
      ),
    )
  })
})

describe('times of day', () => {
  it.each([
    ['02:30:40+00:00', '02:30:40Z'],
    ['02:30:40-05:30', '02:30:40-05:30'],
    ['02:30:40+0200', '02:30:40+02:00'],
    ['02:30:40.250Z', '02:30:40.250Z'],
    ['02:30:40', '02:30:40'],
  ])('reads %s and writes it as %s', (text, written) => {
    const time = readTimeOfDay(text)
    expect(time && writeTimeOfDay(time)).toBe(written)
  })
})
