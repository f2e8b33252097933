import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrate, ownMigrations, requireOwnSchema, splitStatements } from '../../src/store/migrate.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../database.ts'

let empty: TestDatabase
let folder: string
const file = (name: string, text: string) => writeFile(path.join(folder, name), text)
const run = () => migrate({ url: empty.url, log: silentLog, folder })

beforeEach(async () => {
  empty = await createTestDatabase({ migrated: false })
  folder = await mkdtemp(path.join(tmpdir(), 'drover-migrations-'))
  await file('0001_first.sql', 'create table counted (n int);\ninsert into counted values (1);\n')
  await file('0002_second.sql', 'insert into counted values (2);\n')
})
afterEach(async () => {
  await empty.close()
  await rm(folder, { recursive: true, force: true })
})

test('twenty that start together run each migration once', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, run))
  expect(all.flat().sort()).toEqual(['0001_first', '0002_second'])
  expect(await empty.database.query(sql`select n from counted order by n`)).toEqual([{ n: 1 }, { n: 2 }])
})

test('a later start runs only what is new', async () => {
  await run()
  await file('0003_third.sql', 'insert into counted values (3);\n')
  expect(await run()).toEqual(['0003_third'])
  expect(await run()).toEqual([])
})

test('a build that does not know all migrations of the schema refuses to start', async () => {
  await run()
  await rm(path.join(folder, '0002_second.sql'))
  await expect(run()).rejects.toThrow('newer than this build, which does not know 0002_second')
})

test('a migration that was changed after it had run is refused', async () => {
  await run()
  await file('0001_first.sql', 'create table counted (n bigint);\n')
  await expect(run()).rejects.toThrow('0001_first was changed after it had run')
})

test('a migration numbered before one that has run is refused', async () => {
  await run()
  await file('0001_a_late_comer.sql', 'insert into counted values (9);\n')
  await expect(run()).rejects.toThrow('0001_a_late_comer')
})

test('a failing migration leaves nothing of itself or its neighbours behind', async () => {
  await file('0003_third.sql', 'insert into counted values (3);\nselect * from nowhere;\n')
  await expect(run()).rejects.toThrow('nowhere')
  await expect(empty.database.query(sql`select n from counted`)).rejects.toThrow('counted')
})

test("this build's own migrations run on an empty database, and their files are as numbered", async () => {
  await cp(path.resolve('migrations'), folder, { recursive: true })
  await rm(path.join(folder, '0001_first.sql'))
  await rm(path.join(folder, '0002_second.sql'))
  const names = await run()
  expect(names.map(name => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1))
})

describe('a migration file', () => {
  test('is sent statement by statement, where a semicolon ends a line outside dollar quotes', () => {
    const text = [
      '-- what it is for;',
      'create table a (',
      '  n int, -- a number;',
      '  m int',
      ');',
      'do $$ begin',
      '  perform 1;',
      'end $$;',
      'select 1',
      '-- the end',
    ].join('\n')
    expect(splitStatements(text)).toEqual([
      '-- what it is for;\ncreate table a (\n  n int, -- a number;\n  m int\n);',
      'do $$ begin\n  perform 1;\nend $$;',
      'select 1\n-- the end',
    ])
    expect(splitStatements('select 1;\n-- the end\n')).toEqual(['select 1;'])
  })
})

test('what works on the rows alone is refused a schema that is not that of this build, and changes none', async () => {
  await expect(requireOwnSchema(empty.url)).rejects.toThrow('is at none')
  const own = await ownMigrations()
  await migrate({ url: empty.url, log: silentLog, count: own.length - 1 })
  await expect(requireOwnSchema(empty.url)).rejects.toThrow(`is at ${own.at(-2)!.name}, that of this build at`)
  await migrate({ url: empty.url, log: silentLog })
  await requireOwnSchema(empty.url)
})
