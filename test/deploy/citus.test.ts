import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const { database } = await testDatabase({ max: 1 })
const text = await readFile(path.resolve(import.meta.dirname, '../../deploy/citus/distribute.sql'), 'utf8')
const named = (call: string) =>
  [...text.matchAll(new RegExp(`^select ${call}\\('(\\w+)'`, 'gm'))].map(([, name]) => name!)

test('the script for Citus distributes every table that has a partition in its key, and no other', async () => {
  const tables = await database.query<{ name: string }>(sql`
    select c.relname as name from pg_class c join pg_index i on i.indrelid = c.oid and i.indisprimary
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'partition' and a.attnum = any(i.indkey)
     where c.relnamespace = 'public'::regnamespace and not c.relispartition`)
  expect(named('create_distributed_table').toSorted()).toEqual(tables.map(({ name }) => name).toSorted())
})

test('what it leaves on the coordinator is there', async () => {
  const local = named('citus_add_local_table_to_metadata')
  expect(local.length).toBeGreaterThan(0)
  const there = await database.query(
    sql`select from unnest(${local}::text[]) as t(name) where to_regclass(name) is not null`,
  )
  expect(there).toHaveLength(local.length)
})
