import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shareOut } from '../../src/engine/slot-sharing.ts'

interface Job {
  readonly job: bigint
  readonly organization: number
  readonly most: number
  readonly stock: number
}

const jobsOf = (stocks: fc.Arbitrary<number>) =>
  fc
    .array(fc.record({ organization: fc.nat({ max: 3 }), most: fc.constantFrom(3, 1_000), stock: stocks }), {
      maxLength: 60,
    })
    .map(some => some.map((each, i): Job => ({ ...each, job: BigInt(i) })))
const jobs = jobsOf(fc.oneof(fc.constant(0), fc.nat({ max: 4 }), fc.nat({ max: 800 })))

/** Shares out what the jobs have; answers what each got, in order, and how many times any were asked. */
async function shared(slots: number, all: readonly Job[], turn: number) {
  const stock = new Map(all.map(each => [each.job, each.stock]))
  let asked = 0
  const taken = await shareOut(slots, all, turn, {
    withAny(wishes) {
      asked += 1
      return Promise.resolve(new Set(wishes.map(({ job }) => job).filter(job => stock.get(job)! > 0)))
    },
    take(shares) {
      asked += 1
      const found = shares.map(({ job, quota }) => [job, Math.min(quota, stock.get(job)!)] as const)
      for (const [job, count] of found) stock.set(job, stock.get(job)! - count)
      return Promise.resolve(new Map(found.filter(([, count]) => count > 0)))
    },
  })
  return { got: all.map(({ job }) => taken.get(job) ?? 0), taken, asked }
}
const sum = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0)

test('slots are left only where nobody has more, and organizations are equal as far as they have enough', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 500 }), jobs, fc.nat({ max: 1_000 }), async (slots, all, turn) => {
      const { got } = await shared(slots, all, turn)
      const enough = all.map(({ most, stock }) => Math.min(most, stock))
      expect(sum(got)).toBe(Math.min(slots, sum(enough)))
      const organizations = [...Map.groupBy(all.keys(), i => all[i]!.organization).values()]
      const totals = organizations.map(members => sum(members.map(i => got[i]!)))
      const hungry = totals.filter((total, i) => total < sum(organizations[i]!.map(member => enough[member]!)))
      if (hungry.length > 0) expect(Math.max(...totals) - Math.min(...hungry)).toBeLessThanOrEqual(1)
    }),
  )
})

test('jobs that have nothing cost no question each, however few slots there are', async () => {
  const all = Array.from(
    { length: 500 },
    (_, i): Job => ({ job: BigInt(i), organization: i % 7, most: 1_000, stock: 0 }),
  )
  const live = [40, 300].map(i => ({ ...all[i]!, stock: 1_000 }))
  const some = all.map((each, i) => live.find(({ job }) => job === BigInt(i)) ?? each)
  for (const slots of [1, 10, 499, 700]) {
    const { got, asked, taken } = await shared(slots, some, 3)
    expect(sum(got)).toBe(slots)
    expect(asked).toBeLessThanOrEqual(4)
    expect([...taken.values()].filter(count => count === 0).length).toBe(498)
  }
})

test('jobs of any size are asked some twenty times at most', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 500 }), jobsOf(fc.nat({ max: 60 })), async (slots, all) => {
      const { asked } = await shared(slots, all, 0)
      expect(asked).toBeLessThan(20)
    }),
  )
})

test('what somebody else takes meanwhile is not waited for', async () => {
  const all = Array.from({ length: 500 }, (_, i): Job => ({ job: BigInt(i), organization: 1, most: 1, stock: 0 }))
  let asked = 0
  const taken = await shareOut(1, all, 0, {
    withAny: wishes => Promise.resolve(new Set(wishes.map(({ job }) => job))),
    take() {
      asked += 1
      return Promise.resolve(new Map())
    },
  })
  expect(sum([...taken.values()])).toBe(0)
  expect(asked).toBeLessThan(25)
})
