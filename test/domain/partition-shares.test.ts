import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PARTITIONS } from '../../src/domain/identity.ts'
import { partitionsOf } from '../../src/domain/partition-shares.ts'

const node = fc.integer({ min: 1, max: 2 ** 31 - 1 })
const nodes = fc.uniqueArray(node, { minLength: 1, maxLength: 12 })
const all = Array.from({ length: PARTITIONS }, (_, partition) => partition)

test('every partition is looked after by exactly one of the living nodes, in whatever order they are named', () => {
  fc.assert(
    fc.property(nodes, living => {
      const shares = living.flatMap(each => partitionsOf(each, [...living].reverse()))
      expect(shares.sort((a, b) => a - b)).toEqual(all)
    }),
  )
})

test('who comes takes partitions from the others, who goes leaves its own to them, and nothing else moves', () => {
  fc.assert(
    fc.property(nodes, node, (living, newcomer) => {
      fc.pre(!living.includes(newcomer))
      for (const each of living) {
        const before = new Set(partitionsOf(each, living))
        const after = partitionsOf(each, [...living, newcomer])
        expect(after.filter(partition => !before.has(partition))).toEqual([])
      }
    }),
  )
})

test('a node that is not named among the living has its share all the same', () => {
  expect(partitionsOf(7, [])).toEqual(all)
  expect(partitionsOf(7, [8, 9])).toEqual(partitionsOf(7, [7, 8, 9]))
})

test('shares are of about one size', () => {
  const living = [11, 5_000, 1_234_567_890]
  for (const each of living) {
    const { length } = partitionsOf(each, living)
    expect(length).toBeGreaterThan(PARTITIONS / 3 / 2)
    expect(length).toBeLessThan((PARTITIONS / 3) * 1.5)
  }
})
