import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  firstNumberAt,
  jobId,
  numberSource,
  operationId,
  PARTITIONS,
  parseJobId,
  parseOperationId,
  partitionOf,
} from '../../src/domain/identity.ts'

const number = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
const key = fc.record({ job: number, partition: fc.nat({ max: PARTITIONS - 1 }), entity: number })

test('a public id reads back as the numbers it was made of', () => {
  fc.assert(
    fc.property(key, each => {
      expect(parseJobId(jobId(each.job))).toBe(each.job)
      expect(parseOperationId(operationId(each))).toEqual(each)
    }),
  )
})

test('public ids are as ordered as their numbers, and of one length', () => {
  fc.assert(
    fc.property(number, number, (one, other) => {
      expect(jobId(one) < jobId(other)).toBe(one < other)
      expect(jobId(one).length).toBe(16)
    }),
  )
})

test.each(['', 'x', '0', 'ffffffffffffffff', '00000000000000001', '0000000000000000-00', '00000000000000AB'])(
  '"%s" is no id',
  text => {
    expect(parseJobId(text)).toBeUndefined()
    expect(parseOperationId(text)).toBeUndefined()
  },
)

test('any text is an id or is not, and never throws', () => {
  fc.assert(
    fc.property(fc.string(), text => {
      const job = parseJobId(text)
      expect(job === undefined || jobId(job) === text).toBe(true)
    }),
  )
})

test('numbers ascend and are never given twice, also where thousands fall into one millisecond or the clock goes back', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 20 }), fc.nat(1023), (moves, salt) => {
      let now = Date.UTC(2026, 0, 1)
      const next = numberSource(() => now, salt)
      let last = 0n
      for (const move of moves) {
        now += move
        for (let i = 0; i < 500; i += 1) {
          const made = next()
          expect(made).toBeGreaterThan(last)
          last = made
        }
      }
    }),
    { numRuns: 30 },
  )
})

test('two processes that number in the same millisecond stay apart', () => {
  const now = () => Date.UTC(2026, 0, 1)
  const [one, other] = [numberSource(now, 1), numberSource(now, 2)]
  const made = new Set<bigint>()
  for (let i = 0; i < 5_000; i += 1) made.add(one()).add(other())
  expect(made.size).toBe(10_000)
})

test('a number belongs to the millisecond it was made in', () => {
  const at = Date.UTC(2026, 5, 1, 12)
  const made = numberSource(() => at, 7)()
  expect(made).toBeGreaterThanOrEqual(firstNumberAt(at))
  expect(made).toBeLessThan(firstNumberAt(at + 1))
})

test('the partition of an entity never changes', () => {
  expect(['d1', 'd2', 'device-77', 'ÄÖÜ'].map(identifier => partitionOf(1, identifier))).toEqual(PINNED)
})

test('identifiers spread evenly over all partitions', () => {
  const counts = new Array<number>(PARTITIONS).fill(0)
  for (let i = 0; i < 100_000; i += 1) counts[partitionOf(3, `device-${i}`)]! += 1
  expect(Math.min(...counts)).toBeGreaterThan(250)
  expect(Math.max(...counts)).toBeLessThan(550)
})

/** Data lies by these: a change here is a change of every table. */
const PINNED = [240, 146, 41, 59]
