import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rankPlaces, scatterHash } from '../../src/domain/scattering-rank.ts'

const entities = (count: number): bigint[] => Array.from({ length: count }, (_, index) => BigInt(index + 1))
const jobs = [1n, 2n, 7_331_840_000_000_005n, 7_331_840_000_000_006n]

describe('the hash', () => {
  it('is what it was: places already written must keep their meaning', () => {
    expect([scatterHash(1n, 1n), scatterHash(1n, 2n), scatterHash(7_331_840_000_000_005n, 123_456_789n)]).toEqual([
      3_249_582_810, 1_884_704_014, 814_478_103,
    ])
  })

  it('spreads consecutive entities evenly, and so it does pairs of neighbours', () => {
    for (const job of jobs) {
      const hashes = entities(65_536).map(entity => scatterHash(job, entity) / 2 ** 32)
      const single = new Array<number>(256).fill(0)
      const pairs = new Array<number>(256).fill(0)
      for (const [index, hash] of hashes.entries()) {
        single[Math.floor(hash * 256)]! += 1
        pairs[Math.floor(hash * 16) * 16 + Math.floor((hashes[index + 1] ?? 0) * 16)]! += 1
      }
      const chiSquare = (counts: number[]): number => counts.reduce((sum, count) => sum + (count - 256) ** 2 / 256, 0)
      // 255 degrees of freedom: 99.99 % of even distributions stay below 347.
      expect(chiSquare(single)).toBeLessThan(347)
      expect(chiSquare(pairs)).toBeLessThan(347)
    }
  })

  it('orders the same entities differently for the next job', () => {
    const places = jobs.map(job =>
      rankPlaces(
        entities(1000).map(entity => ({ entity, group: null })),
        job,
        null,
      ),
    )
    const moved = entities(1000).map(entity => Math.abs(places[2]!.get(entity)! - places[3]!.get(entity)!))
    const mean = moved.reduce((sum, distance) => sum + distance, 0) / moved.length
    // Two random orders of n lie n / 3 apart on average.
    expect(mean).toBeGreaterThan(280)
    expect(mean).toBeLessThan(390)
  })
})

const rows = fc
  .uniqueArray(fc.bigInt({ min: 1n, max: 2n ** 62n }), { maxLength: 60 })
  .chain(ids =>
    fc
      .array(fc.constantFrom('a', 'b', 'c', null), { minLength: ids.length, maxLength: ids.length })
      .map(groups => ids.map((entity, index) => ({ entity, group: groups[index]! }))),
  )
const job = fc.bigInt({ min: 1n, max: 2n ** 62n })
const factor = fc.option(fc.integer({ min: 0, max: 100 }))

describe('places', () => {
  it('are 0 to N − 1, each once, in whatever order the operations are given', () => {
    fc.assert(
      fc.property(rows, job, factor, (given, number, share) => {
        const places = rankPlaces(given, number, share)
        expect([...places.values()].sort((one, other) => one - other)).toEqual(given.map((_, index) => index))
        expect(rankPlaces([...given].reverse(), number, share)).toEqual(places)
      }),
    )
  })

  it('follow the hash alone without a strategy', () => {
    fc.assert(
      fc.property(rows, job, (given, number) => {
        const places = rankPlaces(given, number, null)
        const inOrder = [...places]
          .sort(([, one], [, other]) => one - other)
          .map(([entity]) => scatterHash(number, entity))
        expect(inOrder).toEqual([...inOrder].sort((one, other) => one - other))
      }),
    )
  })

  it('keep each group together at factor 0, those without a group last', () => {
    fc.assert(
      fc.property(rows, job, (given, number) => {
        const places = rankPlaces(given, number, 0)
        const groups = [...given]
          .sort((one, other) => places.get(one.entity)! - places.get(other.entity)!)
          .map(row => row.group)
        expect(groups).toEqual(
          [...groups].sort((one, other) => (one ?? '~').charCodeAt(0) - (other ?? '~').charCodeAt(0)),
        )
      }),
    )
  })

  it('spread every group over the whole job at factor 100', () => {
    const given = entities(1000).map(entity => ({ entity, group: entity <= 100n ? 'cell' : null }))
    const places = rankPlaces(given, 5n, 100)
    const ofCell = given
      .slice(0, 100)
      .map(({ entity }) => places.get(entity)!)
      .sort((one, other) => one - other)
    for (const [index, place] of ofCell.entries()) {
      expect(Math.abs(place - (index + 0.5) * 10)).toBeLessThanOrEqual(6)
    }
  })

  it('keep groups in the order of their code points, as the database does', () => {
    const given = ['\u{1F600}', '\uFFFD', 'b', 'a', ''].map((group, index) => ({ entity: BigInt(index), group }))
    expect([...rankPlaces(given, 5n, 0).keys()]).toEqual([4n, 3n, 2n, 1n, 0n])
  })
})
