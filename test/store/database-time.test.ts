import { expect, test } from 'vitest'
import { databaseClock } from '../../src/engine/clock.ts'
import { measureDatabaseTime } from '../../src/store/database-time.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const { database } = await testDatabase({ migrated: false })

/** A database that tells the given times, each after a round trip on the given monotonic clock. */
function pretend(answers: { atMs: number; roundTripMs: number }[]) {
  let monotonicMs = 1_000
  return {
    monotonicMs: () => monotonicMs,
    pass(ms: number) {
      monotonicMs += ms
    },
    run: async () => {
      const answer = answers.shift()
      monotonicMs += answer?.roundTripMs ?? 0
      return [{ at: new Date(answer?.atMs ?? 0) }] as never[]
    },
  }
}

test('the time runs on between measurements from the middle of the round trip', async () => {
  const pretended = pretend([{ atMs: 500_000, roundTripMs: 10 }])
  const time = await measureDatabaseTime(pretended, pretended.monotonicMs)
  expect(time.nowMs()).toBe(500_005)
  pretended.pass(100)
  expect(time.nowMs()).toBe(500_105)
})

test('a slow answer is asked for again and the quickest counts', async () => {
  const pretended = pretend([
    { atMs: 500_000, roundTripMs: 1_000 },
    { atMs: 600_000, roundTripMs: 2 },
  ])
  const time = await measureDatabaseTime(pretended, pretended.monotonicMs)
  expect(time.nowMs()).toBe(600_001)
})

test('a measurement answers by how much it moved the time', async () => {
  const pretended = pretend([
    { atMs: 500_000, roundTripMs: 0 },
    { atMs: 499_990, roundTripMs: 0 },
  ])
  const time = await measureDatabaseTime(pretended, pretended.monotonicMs)
  expect(await time.measure()).toBe(-10)
  expect(time.nowMs()).toBe(499_990)
})

test('a slow answer moves the time by no more than it proves', async () => {
  const pretended = pretend([
    { atMs: 500_000, roundTripMs: 0 },
    { atMs: 500_400, roundTripMs: 1_000 },
    { atMs: 502_500, roundTripMs: 1_000 },
  ])
  const time = await measureDatabaseTime(pretended, pretended.monotonicMs)
  // After a second's round trip it may well be what it was thought to be.
  expect(await time.measure()).toBe(0)
  expect(time.nowMs()).toBe(501_000)
  expect(await time.measure()).toBe(500)
  expect(time.nowMs()).toBe(502_500)
})

test("the service's clock agrees with the database's", async () => {
  const clock = await databaseClock(database)
  const before = await database.query<{ at: Date }>(sql`select clock_timestamp() as at`)
  const now = clock.now()
  expect(Math.abs(now.getTime() - (before[0]?.at.getTime() ?? 0))).toBeLessThan(10_000)
  await clock.measure()
  expect(clock.now().getTime()).toBeGreaterThanOrEqual(now.getTime())
})
