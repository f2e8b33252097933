import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Contender, shareSlots } from '../../src/domain/fairness.ts'

const contenders = fc
  .array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 30 })
  .map(organizations => organizations.map((organization, i): Contender => ({ job: BigInt(i), organization })))
const slots = fc.nat({ max: 600 })
const turn = fc.nat({ max: 10_000 })
const sum = (quotas: readonly number[]) => quotas.reduce((a, b) => a + b, 0)

function byOrganization(all: readonly Contender[], quotas: readonly number[]): number[][] {
  const groups = Map.groupBy(all.keys(), i => all[i]!.organization)
  return [...groups.values()].map(members => members.map(i => quotas[i]!))
}
const spread = (values: readonly number[]) => Math.max(...values) - Math.min(...values)

test('every slot is given, and none twice', () => {
  fc.assert(
    fc.property(slots, contenders, turn, (free, all, now) => {
      expect(sum(shareSlots(free, all, now))).toBe(free)
    }),
  )
})

test('organizations differ by one slot at most, and so do the jobs of each', () => {
  fc.assert(
    fc.property(slots, contenders, turn, (free, all, now) => {
      const groups = byOrganization(all, shareSlots(free, all, now))
      expect(spread(groups.map(sum))).toBeLessThanOrEqual(1)
      for (const members of groups) expect(spread(members)).toBeLessThanOrEqual(1)
    }),
  )
})

test('over as many turns as it takes, nobody is left out, however few slots there are', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), contenders, turn, (free, all, from) => {
      const given = new Array<number>(all.length).fill(0)
      for (let i = 0; i < all.length * all.length; i += 1) {
        shareSlots(free, all, from + i).forEach((quota, index) => {
          given[index]! += quota
        })
      }
      expect(Math.min(...given)).toBeGreaterThan(0)
    }),
  )
})

test('an organization with one job gets as much as one with many', () => {
  const many = Array.from({ length: 99 }, (_, i): Contender => ({ job: BigInt(i), organization: 1 }))
  const quotas = shareSlots(100, [...many, { job: 99n, organization: 2 }], 0)
  expect(quotas[99]).toBe(50)
  expect(sum(quotas.slice(0, 99))).toBe(50)
})

test('nobody wants anything: nothing is shared', () => {
  expect(shareSlots(10, [], 3)).toEqual([])
})
