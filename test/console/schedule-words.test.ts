/** Windows, schedules of tasks and the ticks of charts, as they are read. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const zoneOfTests = process.env.TZ

describe('the words of', () => {
  beforeAll(() => {
    process.env.TZ = 'Europe/Madrid'
  })
  afterAll(() => {
    if (zoneOfTests === undefined) delete process.env.TZ
    else process.env.TZ = zoneOfTests
  })

  test('a window say its days, its hours and their zone, once where it is the same', async () => {
    const { windowWords } = await import('../../src/console/views/job/window-words.ts')
    const night = { start: '22:00:00Z', stop: '06:00:00Z' }
    expect(windowWords({ weekly: [{ daily: night }] })).toBe('every day 22:00–06:00 UTC')
    expect(windowWords({ weekly: [{ days: ['MON', 'TUE'], daily: night }], timezone: 'Europe/Madrid' })).toBe(
      'Mon, Tue 22:00–06:00 Europe/Madrid',
    )
    expect(windowWords({ days: ['FRI', 'WED', 'THU', 'SUN'], start: '08:30:00+02:00', stop: '10:30:00+02:00' })).toBe(
      'Wed–Fri, Sun 08:30–10:30 UTC+02:00',
    )
    expect(
      windowWords({
        weekly: [
          { days: ['SAT'], daily: { start: '00:00:00Z', stop: '00:00:00Z' } },
          { days: ['SUN'], daily: { start: '08:00:00+02:00', stop: '10:00:00+02:00' } },
        ],
      }),
    ).toBe('Sat from 00:00 for 24 h UTC; Sun 08:00–10:00 UTC+02:00')
    // Six hours, not eight; and 24 hours, not two.
    expect(windowWords({ start: '22:00:00Z', stop: '06:00:00+02:00' })).toBe('every day 22:00 UTC – 06:00 UTC+02:00')
    expect(windowWords({ start: '08:00:00Z', stop: '08:00:00+02:00' })).toBe('every day 08:00 UTC – 08:00 UTC+02:00')
    expect(windowWords({ start: '08:00:00.0z', stop: '10:00:00.0z' })).toBe('every day 08:00:00.0–10:00:00.0 UTC')
  })

  test('a task say when it repeats, and name it where it was given no name', async () => {
    const { repeatWords, taskTitle } = await import('../../src/console/views/tasks/schedule-words.ts')
    const weekly = { repeating: { pattern: { time: '02:30:00+01:00', weekly: { days: ['SUN', 'WED'] } } } }
    expect(repeatWords(weekly)).toBe('Wed, Sun at 02:30 UTC+01:00')
    expect(repeatWords({ repeating: { pattern: { time: '02:30:15Z' } } })).toBe('every day at 02:30:15 UTC')
    const task = { id: 'fa545da1', schedule: { repeating: { period: { each: 2, unit: 'HOURS' } } } }
    const job = { request: { name: 'REFRESH_INFO' } }
    expect(taskTitle({ ...task, job })).toBe('REFRESH_INFO, every 2 hours')
    expect(taskTitle({ ...task, job, name: 'Hourly' })).toBe('Hourly')
  })

  test('a time axis say the day where it is another one', async () => {
    const { axisWords } = await import('../../src/console/parts/axis-words.ts')
    const at = (text: string) => Date.parse(text) / 1000
    const now = Date.parse('2026-03-02T12:00:00Z')
    const hours = ['2026-03-02T17:00:00Z', '2026-03-02T23:00:00Z', '2026-03-03T05:00:00Z'].map(at)
    expect(axisWords(hours, now)).toEqual(['18:00', '00:00\n03 Mar', '06:00'])
    expect(axisWords(hours, now + 5 * 86_400_000)).toEqual(['18:00\n02 Mar', '00:00\n03 Mar', '06:00'])
    expect(axisWords(['2026-03-02T11:00:00Z', '2026-03-02T11:00:10Z'].map(at), now)).toEqual(['12:00:00', '12:00:10'])
    expect(axisWords(['2026-03-02T23:00:00Z', '2026-03-03T23:00:00Z'].map(at), now)).toEqual(['03 Mar', '04 Mar'])
  })
})
