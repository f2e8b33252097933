import { expect, test } from 'vitest'
import { judgeDay, type Sample } from './day-judge.ts'

const COUNT = 36

/** A day that is flat but for what is said of each part of it, from 0 to 1. */
function day(of: (part: number) => Partial<Sample> = () => ({})): Sample[] {
  return Array.from({ length: COUNT }, (_, i) => {
    const wave = 1 + 0.2 * Math.sin(i * 1.7)
    return {
      atMs: i * 10_000,
      residentMb: 500 * wave,
      heapMb: 150 * wave,
      hotMb: 12,
      deadRows: 30_000 * wave,
      endedMb: i,
      operations: i * 3_000,
      readMs: 60 * wave,
      createMs: 120 * wave,
      commitMs: 10 * wave,
      ...of(i / (COUNT - 1)),
    }
  })
}

const judged = (samples: readonly Sample[], done = 100_000) =>
  judgeDay(samples, { asked: 100_000, done, tell: () => {} }).wrong

test('a flat day holds, and one that had less to do than asked for does not', () => {
  expect(judged(day())).toEqual([])
  expect(judged(day(), 99_999)).toEqual(['the day was to have 100000 operations, and had 99999'])
})

test.each<[keyof Sample, number]>([
  ['residentMb', 800],
  ['heapMb', 260],
  ['hotMb', 40],
  ['deadRows', 90_000],
  ['readMs', 300],
  ['createMs', 400],
  ['commitMs', 90],
])('%s that is higher since the month has ended is told', (name, value) => {
  expect(judged(day(part => (part > 0.5 ? { [name]: value } : {})))).toEqual([
    expect.stringMatching(new RegExp(`^${name} grew from \\d+ to \\d+$`)),
  ])
})

test('times that rise with those of a commit elsewhere are the machine, those that rise alone are the service', () => {
  const slower = (part: number) => 1 + 1.5 * part
  const times = (part: number) => ({ readMs: 100 * slower(part), createMs: 200 * slower(part) })
  expect(judged(day(part => ({ ...times(part), commitMs: 20 * slower(part) })))).toEqual([])
  expect(judged(day(part => ({ ...times(part), commitMs: 20 })))).toEqual([
    expect.stringContaining('readMs grew'),
    expect.stringContaining('createMs grew'),
  ])
})

test('a machine that slows without end excuses nothing', () => {
  const wrong = judged(
    day(part => ({ readMs: 60 + 900 * part, createMs: 120 + 900 * part, commitMs: 20 + 300 * part })),
  )
  expect(wrong).toContainEqual(expect.stringContaining('commitMs grew'))
})

test('a commit that becomes quicker does not make a time of the service longer than it was', () => {
  expect(judged(day(part => (part > 0.5 ? { commitMs: 1 } : {})))).toEqual([])
})
