import { expect, test } from 'vitest'
import { trendOf } from './trend.ts'

const bound = { factor: 1.5, grain: 20 }
/** As many as a day has that are judged. */
const COUNT = 32
const SEEDS = Array.from({ length: 500 }, (_, i) => i + 1)

/** Numbers from 0 to 1 that are the same at every run. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

function figures(seed: number, of: (part: number, random: () => number, place: number) => number): number[] {
  const random = chance(seed)
  return Array.from({ length: COUNT }, (_, i) => of(i / (COUNT - 1), random, i))
}

test('figures that only scatter do not grow, however much they do', () => {
  const grown = SEEDS.filter(
    seed =>
      trendOf(
        figures(seed, (_, random) => 50 + 400 * random() ** 3),
        bound,
      ).grows,
  )
  expect(grown.length).toBeLessThan(SEEDS.length / 50)
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

const PLACES = Array.from({ length: COUNT }, (_, i) => i).filter(place => place >= 7 && place <= COUNT - 7)

test.each(PLACES)('a step after %i of them that lasts is growth, told with what was before and after it', place => {
  const found = SEEDS.map(seed =>
    trendOf(
      figures(seed, (_, random, i) => (i < place ? 100 : 1_000) * (0.75 + random() / 2)),
      bound,
    ),
  )
  expect(found.filter(({ grows }) => !grows)).toEqual([])
  for (const { from, to } of found) {
    expect(from).toBeLessThan(200)
    expect(to).toBeGreaterThan(700)
  }
})

test('also one to the double, where they scatter by a quarter', () => {
  const found = SEEDS.filter(
    seed =>
      trendOf(
        figures(seed, (part, random) => (part < 0.5 ? 100 : 200) * (0.75 + random() / 2)),
        bound,
      ).grows,
  )
  expect(found.length).toBeGreaterThan(SEEDS.length * 0.95)
})

test.each([0, 0.3, 0.5, 0.7, 0.91])(
  'one bad time that begins after %d of the run and takes a tenth of it is noise',
  start => {
    const grown = SEEDS.filter(seed => {
      const spiked = figures(seed, (part, random) =>
        part >= start && part < start + 0.1 ? 2_000 : 100 + 10 * random(),
      )
      expect(spiked.filter(value => value > 1_000).length).toBeGreaterThan(2)
      return trendOf(spiked, bound).grows
    })
    expect(grown.length).toBeLessThan(SEEDS.length / 50)
  },
)

test('what rises and stays within the bound or the grain does not grow', () => {
  expect(
    trendOf(
      figures(1, part => 100 + 40 * part),
      bound,
    ),
  ).toMatchObject({ grows: false })
  expect(
    trendOf(
      figures(1, part => (part < 0.5 ? 100 : 140)),
      bound,
    ).grows,
  ).toBe(false)
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
    ).grows,
  ).toBe(false)
  expect(
    trendOf(
      figures(1, part => (part < 0.5 ? 500 : 100)),
      bound,
    ).grows,
  ).toBe(false)
})
