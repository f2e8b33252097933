import { expect, test } from 'vitest'
import { trendOf } from './trend.ts'

const bound = { factor: 1.5, grain: 20 }
/** Numbers from 0 to 1 that are the same at every run. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

function figures(seed: number, of: (part: number, random: () => number) => number, count = 20): number[] {
  const random = chance(seed)
  return Array.from({ length: count }, (_, i) => of(i / (count - 1), random))
}

const SEEDS = Array.from({ length: 500 }, (_, i) => i + 1)

test('figures that only scatter do not grow, however much they do', () => {
  const grown = SEEDS.filter(
    seed =>
      trendOf(
        figures(seed, (_, random) => 50 + 400 * random() ** 3),
        bound,
      ).grows,
  )
  expect(grown.length).toBeLessThan(SEEDS.length / 100)
})

test('figures that double over the run grow, also under noise of half of them', () => {
  const found = SEEDS.filter(
    seed =>
      trendOf(
        figures(seed, (part, random) => 100 * (1 + part) * (0.75 + random() / 2)),
        bound,
      ).grows,
  )
  expect(found.length).toBeGreaterThan(SEEDS.length * 0.95)
})

test('one bad time at the end is noise: a few figures do not bend the line', () => {
  const spiked = figures(1, (part, random) => (part > 0.85 ? 900 : 100 + 10 * random()))
  expect(trendOf(spiked, bound).grows).toBe(false)
})

test('what rises steadily and stays within the bound or the grain does not grow', () => {
  expect(
    trendOf(
      figures(1, part => 100 + 40 * part),
      bound,
    ),
  ).toMatchObject({ from: 100, to: 140, grows: false })
  expect(
    trendOf(
      figures(1, part => 10 + 15 * part),
      bound,
    ).grows,
  ).toBe(false)
  expect(
    trendOf(
      figures(1, part => 100 + 80 * part),
      bound,
    ).grows,
  ).toBe(true)
})

test('what falls does not grow', () => {
  expect(
    trendOf(
      figures(1, part => 500 - 400 * part),
      bound,
    ),
  ).toMatchObject({ from: 500, to: 100, grows: false })
})
