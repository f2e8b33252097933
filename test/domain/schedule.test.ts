import { describe, expect, it } from 'vitest'
import { dayMs, hourMs, type Instant } from '../../src/domain/instants.ts'
import {
  noSchedule,
  parseSchedule,
  type Schedule,
  startAt,
  stopAt,
  stopBeforeStart,
} from '../../src/domain/schedule.ts'

const at = (text: string): Instant => Date.parse(text)
const now = at('2026-06-01T12:00:00Z')

function scheduleOf(json: unknown): Schedule {
  const read = parseSchedule(json)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.value
}

describe('reading a schedule', () => {
  it('reads dates back in UTC and numbers as numbers', () => {
    const schedule = scheduleOf({
      start: { date: '2030-01-02T05:04:05+02:00' },
      stop: { delayed: '3600000' },
      window: { start: '22:00:00Z', stop: '06:00:00Z' },
      scattering: { maxSpread: '20' },
    })
    expect(schedule.source).toEqual({
      start: { date: '2030-01-02T03:04:05.000Z' },
      stop: { delayed: 3_600_000 },
      window: { weekly: [{ daily: { start: '22:00:00Z', stop: '06:00:00Z' } }] },
      scattering: { maxSpread: 20 },
    })
    expect(scheduleOf(schedule.source)).toEqual(schedule)
  })

  it('takes a null for a field left out', () => {
    expect(scheduleOf(null)).toBe(noSchedule)
    expect(scheduleOf({ start: null, stop: { date: null, delayed: 5 }, window: null, scattering: null })).toEqual({
      ...noSchedule,
      stop: { kind: 'delayed', delayMs: 5 },
      source: { stop: { delayed: 5 } },
    })
  })

  it.each([
    ['no object', [], 'schedule'],
    ['an unknown member', { windows: {} }, 'schedule.windows'],
    ['date and delay', { start: { date: '2030-01-01T00:00:00Z', delayed: 5 } }, 'schedule.start'],
    ['neither date nor delay', { stop: {} }, 'schedule.stop'],
    ['an unknown member of the start', { start: { delayed: 5, dated: 6 } }, 'schedule.start.dated'],
    ['a date that is none', { start: { date: '2030-02-30T00:00:00Z' } }, 'schedule.start.date'],
    ['a date as a number', { stop: { date: 1_900_000_000_000 } }, 'schedule.stop.date'],
    ['a negative delay', { start: { delayed: -1 } }, 'schedule.start.delayed'],
    ['a delay in fractions', { start: { delayed: '1.5' } }, 'schedule.start.delayed'],
    ['a delay of eleven years', { stop: { delayed: 11 * 366 * dayMs } }, 'schedule.stop.delayed'],
    ['a stop at the start', { stop: { delayed: 0 } }, 'schedule.stop.delayed'],
    ['a window of half hours', { window: { start: '09:00:00Z', stop: '15:30:00Z' } }, 'schedule.window.stop'],
    ['a spread over 100', { scattering: { maxSpread: 200 } }, 'schedule.scattering.maxSpread'],
  ])('names the field: %s', (_, json, path) => {
    const read = parseSchedule(json)
    expect(read.ok ? [] : read.problems.map(problem => problem.path)).toEqual([path])
  })

  it('refuses dates in the job request of a task', () => {
    const json = { start: { date: '2030-01-01T00:00:00Z' }, stop: { date: '2030-01-01T00:00:00Z' } }
    const read = parseSchedule(json, { path: 'task.job.request.schedule', dates: false })
    expect(read.ok ? [] : read.problems.map(problem => problem.path)).toEqual([
      'task.job.request.schedule.start.date',
      'task.job.request.schedule.stop.date',
    ])
    expect(parseSchedule({ start: { delayed: 5 }, stop: { delayed: 6 } }, { dates: false }).ok).toBe(true)
  })
})

describe('start and stop', () => {
  it('counts a delayed start from the activation, a delayed stop from the start', () => {
    const schedule = scheduleOf({ start: { delayed: hourMs }, stop: { delayed: dayMs } })
    expect(startAt(schedule, now)).toBe(now + hourMs)
    expect(stopAt(schedule, now + hourMs)).toBe(now + hourMs + dayMs)
  })

  it('starts at once without a start, or where its date is past', () => {
    expect(startAt(noSchedule, now)).toBe(now)
    expect(startAt(scheduleOf({ start: { date: '2020-01-01T00:00:00Z' } }), now)).toBe(now)
    expect(startAt(scheduleOf({ start: { date: '2030-01-01T00:00:00Z' } }), now)).toBe(at('2030-01-01T00:00:00Z'))
    expect(stopAt(noSchedule, now)).toBeNull()
    expect(stopAt(scheduleOf({ stop: { date: '2030-01-01T00:00:00Z' } }), now)).toBe(at('2030-01-01T00:00:00Z'))
  })

  it.each([
    ['a stop in the past', { stop: { date: '2026-06-01T11:59:59Z' } }],
    ['a stop now', { stop: { date: '2026-06-01T12:00:00Z' } }],
    [
      'a stop at the date of the start',
      { start: { date: '2026-06-02T00:00:00Z' }, stop: { date: '2026-06-02T00:00:00Z' } },
    ],
    ['a stop before a delayed start', { start: { delayed: 2 * hourMs }, stop: { date: '2026-06-01T13:00:00Z' } }],
  ])('names the stop that lies at or before the start: %s', (_, json) => {
    expect(stopBeforeStart(scheduleOf(json), now).map(problem => problem.path)).toEqual(['schedule.stop'])
  })

  it('finds nothing wrong with a stop after the start, or with none', () => {
    expect(stopBeforeStart(noSchedule, now)).toEqual([])
    expect(stopBeforeStart(scheduleOf({ start: { delayed: 5 }, stop: { delayed: 1 } }), now)).toEqual([])
    expect(stopBeforeStart(scheduleOf({ stop: { date: '2026-06-01T12:00:00.001Z' } }), now)).toEqual([])
  })
})
