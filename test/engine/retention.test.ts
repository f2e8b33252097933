import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { firstNumberAt } from '../../src/domain/identity.ts'
import { monthOf } from '../../src/domain/months.ts'
import { readyMonths } from '../../src/engine/housekeeper.ts'
import { prune } from '../../src/engine/retention.ts'
import type { Database } from '../../src/store/database.ts'
import { partitionedMonths } from '../../src/store/months.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const LONG_MS = 120_000
const { database, url } = await testDatabase()
const then = new Date('2026-01-15T00:00:00Z')
const before = monthOf(new Date('2026-03-01T00:00:00Z'))
const never = new AbortController().signal
const jobsLeft = async (db: Database) =>
  (await db.query<{ count: number }>(sql`select count(*)::int as count from job`))[0]!.count

let made = 0
async function jobsEnded(count: number): Promise<void> {
  const from = firstNumberAt(then.getTime()) + BigInt(made)
  made += count
  await readyMonths(database, then)
  await database.query(sql`insert into organization (name, created_at) values ('o', ${then}) on conflict do nothing`)
  await database.query(sql`
    insert into job (job, organization, name, user_email, request, status, created_at, timeout_ms)
    select ${from}::bigint + i, organization, 'REBOOT', 'a@b', '{}', 'FINISHED', ${then}, 1
      from organization, generate_series(1, ${count}::int) i`)
}

test('a prune goes on in turns until nothing is left, and tells how far it has come', async () => {
  await jobsEnded(2_500)
  const shares: number[] = []
  const gone = await prune(database, before, { signal: never, onProgress: (_, share) => shares.push(share) })
  expect(gone).toEqual({ months: ['2026_01', '2026_02'], kept: [], jobs: 2_500, isLeft: false })
  expect(await jobsLeft(database)).toBe(0)
  expect(shares).toHaveLength(3)
  expect(shares.toSorted((a, b) => a - b)).toEqual(shares)
  expect(shares.at(-1)).toBe(1)
})

test('one that is told to end does so between two turns', async () => {
  await jobsEnded(2_500)
  const stopping = new AbortController()
  await expect(
    prune(database, before, { signal: stopping.signal, onProgress: () => stopping.abort(new Error('enough')) }),
  ).rejects.toThrow('enough')
  expect(await jobsLeft(database)).toBe(1_500)
})

test(
  'a month that somebody reads, as a backup does, is left with its jobs, and said to be',
  async () => {
    await jobsEnded(1)
    const there = await jobsLeft(database)
    const reader = new pg.Client({ connectionString: url })
    await reader.connect()
    onTestFinished(() => reader.end())
    await reader.query('begin; select from operation_ended_2026_01')
    const gone = await prune(database, before, { signal: never, onProgress: () => {} })
    expect(gone).toMatchObject({ isLeft: true, jobs: 0 })
    expect(await partitionedMonths(database)).toContain('2026_01')
    expect(await jobsLeft(database)).toBe(there)
  },
  LONG_MS,
)
