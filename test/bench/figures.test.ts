import { describe, expect, test } from 'vitest'
import { median, openSession, quantile, RUNS_LEAST, shown, summarize, type Target, table } from '../../bench/figures.ts'

const measured = (values: readonly number[], target?: Target) =>
  summarize(
    { name: 'm', about: '', ...(target && { targets: { f: target } }), run: () => Promise.resolve({}) },
    values.map(f => ({ f })),
  )[0]!

test('the median is the middle one, or the mean of the two, in whatever order they come', () => {
  expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([7])]).toEqual([2, 2.5, 7])
})

test('a quantile is the value that so many do not exceed', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)
  expect([quantile(hundred, 0.99), quantile(hundred, 0.5), quantile(hundred, 1)]).toEqual([99, 50, 100])
  expect(quantile([5], 0.99)).toBe(5)
  expect(quantile([], 0.99)).toBeNaN()
})

test('a figure of several runs is their median, with the least and the most', () => {
  expect(measured([30, 10, 20])).toEqual({ measurement: 'm', figure: 'f', median: 20, least: 10, most: 30, runs: 3 })
})

describe('a target', () => {
  test('is reached by the median, at its bounds too', () => {
    expect(measured([1, 2, 90], { most: 2 })).toMatchObject({ target: '≤ 2', reached: true })
    expect(measured([1, 3, 3], { most: 2 }).reached).toBe(false)
    expect(measured([9, 10, 11], { least: 10 }).reached).toBe(true)
    expect(measured([9, 9, 11], { least: 10 }).reached).toBe(false)
    expect(measured([5, 5, 5], { least: 4, most: 4.5 })).toMatchObject({ target: '≥ 4, ≤ 4.5', reached: false })
  })

  test('that holds in every run is missed by the worst of them', () => {
    expect(measured([1, 1, 3], { most: 2, worst: true })).toMatchObject({ target: '≤ 2 in every run', reached: false })
    expect(measured([1, 1, 2], { most: 2, worst: true }).reached).toBe(true)
  })

  test('is not judged by fewer runs than three', () => {
    expect(RUNS_LEAST).toBe(3)
    const few = measured([1, 1], { most: 2 })
    expect(few).not.toHaveProperty('reached')
    expect(table([few])).toMatch(/≤ 2 +\| too few runs \|$/)
  })
})

test('the table says what was reached, what was not, and nothing where nothing is asked', () => {
  const rows = table([measured([1, 1, 1], { most: 2 }), measured([3, 3, 3], { most: 2 }), measured([3, 3, 3])]).split(
    '\n',
  )
  expect(rows.slice(2).map(row => row.split('|').at(-2)!.trim())).toEqual(['yes', 'no', ''])
})

test('numbers are shown with three digits where they are small', () => {
  expect([1_234.5, 99.94, 9.994, 0.123, -0.126].map(shown)).toEqual(['1,235', '99.9', '9.99', '0.12', '-0.13'])
})

test('a measurement that makes everything anew is run as often as asked, and one that opens something closes it', async () => {
  let runs = 0
  const anew = await openSession({ name: 'm', about: '', run: async () => ({ f: ++runs }) })
  expect([await anew.run(), await anew.run()]).toEqual([{ f: 1 }, { f: 2 }])
  await anew.close()
  let closed = false
  const opened = await openSession({
    name: 'm',
    about: '',
    open: async () => ({
      run: async () => ({ f: 1 }),
      close: async () => {
        closed = true
      },
    }),
  })
  await opened.close()
  expect(closed).toBe(true)
})
