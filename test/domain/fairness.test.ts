import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Contender, goRound, type InLine, type Round, shareSlots, type Taker } from '../../src/domain/fairness.ts'

const contenders = fc
  .array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 30 })
  .map(organizations => organizations.map((organization, i): Contender => ({ job: BigInt(i), organization })))
/** Who was given nothing before, and may have everything. */
const unlimited = (all: readonly Contender[]) =>
  all.map(each => ({ ...each, given: 0, most: Number.POSITIVE_INFINITY }))
const limited = fc.array(
  fc.record({
    job: fc.constant(0n),
    organization: fc.nat({ max: 5 }),
    given: fc.nat({ max: 40 }),
    most: fc.oneof(fc.nat({ max: 40 }), fc.constant(Number.POSITIVE_INFINITY)),
  }),
  { minLength: 1, maxLength: 30 },
)
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
      expect(sum(shareSlots(free, unlimited(all), now))).toBe(free)
    }),
  )
})

test('organizations differ by one slot at most, and so do the jobs of each', () => {
  fc.assert(
    fc.property(slots, contenders, turn, (free, all, now) => {
      const groups = byOrganization(all, shareSlots(free, unlimited(all), now))
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
        shareSlots(free, unlimited(all), from + i).forEach((quota, index) => {
          given[index]! += quota
        })
      }
      expect(Math.min(...given)).toBeGreaterThan(0)
    }),
  )
})

test('an organization with one job gets as much as one with many', () => {
  const many = Array.from({ length: 99 }, (_, i): Contender => ({ job: BigInt(i), organization: 1 }))
  const quotas = shareSlots(100, unlimited([...many, { job: 99n, organization: 2 }]), 0)
  expect(quotas[99]).toBe(50)
  expect(sum(quotas.slice(0, 99))).toBe(50)
})

/** Nobody has two more than another who could have one more. */
function expectLevel(takers: readonly Taker[], quotas: readonly number[]) {
  const given = takers
    .filter((_, i) => quotas[i]! > 0)
    .map(({ given }, i, some) => given + quotas[takers.indexOf(some[i]!)]!)
  const couldHave = takers.flatMap(({ given, most }, i) => (quotas[i]! < most ? [given + quotas[i]!] : []))
  if (given.length > 0 && couldHave.length > 0)
    expect(Math.max(...given) - Math.min(...couldHave)).toBeLessThanOrEqual(1)
}

test('what one may not have goes to those with least, organizations first, and nothing is left that anybody may have', () => {
  fc.assert(
    fc.property(slots, limited, turn, (free, all, now) => {
      const quotas = shareSlots(free, all, now)
      expect(sum(quotas)).toBe(Math.min(free, sum(all.map(({ most }) => most))))
      quotas.forEach((quota, i) => {
        expect(quota).toBeLessThanOrEqual(all[i]!.most)
      })
      const groups = [...Map.groupBy(all.keys(), i => all[i]!.organization).values()]
      const takersOf = (members: readonly number[]) => members.map(i => all[i]!)
      for (const members of groups) {
        expectLevel(
          takersOf(members),
          members.map(i => quotas[i]!),
        )
      }
      const whole = groups.map(members => ({
        given: sum(takersOf(members).map(({ given }) => given)),
        most: sum(takersOf(members).map(({ most }) => most)),
      }))
      expectLevel(
        whole,
        groups.map(members => sum(members.map(i => quotas[i]!))),
      )
    }),
  )
})

test('nobody wants anything: nothing is shared', () => {
  expect(shareSlots(10, [], 3)).toEqual([])
})

/** The page that the store answers: the next of each organization, then the second of each, those not gone through first. */
function pageOf(all: readonly Contender[], round: Round, size: number): InLine[] {
  const lines = [...Map.groupBy(all, each => each.organization)].flatMap(([organization, jobs]) => {
    const { after = 0n, through = false } = round.get(organization) ?? {}
    const line = jobs.filter(({ job }) => job > after).slice(0, size)
    return line.map((each, seat) => ({ ...each, seat, through, inLine: line.length }))
  })
  return lines
    .sort((a, b) => a.seat - b.seat || Number(a.through) - Number(b.through) || Number(a.job - b.job))
    .slice(0, size)
}

test('a round goes over every job, ends, and has every organization on each page where there is room for all', () => {
  fc.assert(
    fc.property(contenders, fc.integer({ min: 1, max: 8 }), (some, size) => {
      const all = some.map(each => ({ ...each, job: each.job + 1n }))
      const organizations = new Set(all.map(({ organization }) => organization))
      const seen = new Set<bigint>()
      let round: Round = new Map()
      let pages = 0
      do {
        const page = pageOf(all, round, size)
        for (const { job } of page) seen.add(job)
        if (organizations.size <= size && page.length === size) {
          const through = (organization: number) =>
            pageOf(all, round, Number.POSITIVE_INFINITY).every(each => each.organization !== organization)
          for (const each of organizations)
            expect(through(each) || page.some(({ organization }) => organization === each)).toBe(true)
        }
        round = goRound(round, page, size)
        pages += 1
      } while (round.size > 0)
      expect(seen.size).toBe(all.length)
      expect(pages).toBeLessThanOrEqual(2 * all.length + 2)
    }),
  )
})
