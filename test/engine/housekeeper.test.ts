import { expect, test } from 'vitest'
import { firstNumberAt } from '../../src/domain/identity.ts'
import { createHousekeeping, readyMonths } from '../../src/engine/housekeeper.ts'
import { partitionedMonths } from '../../src/store/months.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase } from '../database.ts'

const at = (text: string) => new Date(text)

async function endedIn(database: Awaited<ReturnType<typeof createTestDatabase>>['database'], instant: Date) {
  await database.query(sql`
    insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, ended_at)
    values (${firstNumberAt(instant.getTime())}, 1, 1, 1, 'FINISHED', 'SUCCESSFUL', 'successful', 1, ${instant})`)
}

test('months are ready before they come, and what ends lies in the month of its job', async () => {
  const { database, close } = await createTestDatabase()
  await readyMonths(database, at('2026-11-21T10:00:00Z'))
  expect(await partitionedMonths(database)).toEqual(['2026_11', '2026_12', '2027_01'])
  await endedIn(database, at('2026-12-31T23:59:59Z'))
  const rows = await database.query<{ table: string }>(
    sql`select tableoid::regclass::text as table from operation_ended`,
  )
  expect(rows).toEqual([{ table: 'operation_ended_2026_12' }])
  await close()
})

test('with a retention old months go as a whole, and younger ones stay', async () => {
  const { database, close } = await createTestDatabase()
  await readyMonths(database, at('2026-01-15T00:00:00Z'))
  await endedIn(database, at('2026-01-15T00:00:00Z'))
  await endedIn(database, at('2026-03-15T00:00:00Z'))
  await createHousekeeping(database, 1)(at('2026-04-01T00:00:00Z'))
  expect(await partitionedMonths(database)).toEqual(['2026_03', '2026_04', '2026_05', '2026_06'])
  expect(await database.query(sql`select 1 from operation_ended`)).toHaveLength(1)
  await close()
})

test('without a retention nothing that ended is ever let go', async () => {
  const { database, close } = await createTestDatabase()
  await readyMonths(database, at('2020-01-15T00:00:00Z'))
  await endedIn(database, at('2020-01-15T00:00:00Z'))
  await createHousekeeping(database, null)(at('2026-04-01T00:00:00Z'))
  expect(await database.query(sql`select 1 from operation_ended`)).toHaveLength(1)
  await close()
})

test('what ended before its month was made moves into it', async () => {
  const { database, close } = await createTestDatabase()
  await endedIn(database, at('2026-11-20T00:00:00Z'))
  await readyMonths(database, at('2026-11-21T10:00:00Z'))
  const rows = await database.query<{ table: string }>(
    sql`select tableoid::regclass::text as table from operation_ended`,
  )
  expect(rows).toEqual([{ table: 'operation_ended_2026_11' }])
  await close()
})
