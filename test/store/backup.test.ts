import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstNumberAt } from '../../src/domain/identity.ts'
import { monthOf } from '../../src/domain/months.ts'
import { readyMonths } from '../../src/engine/housekeeper.ts'
import { writeBackup } from '../../src/store/backup.ts'
import { readBackupFile, writeBackupFile } from '../../src/store/backup-file.ts'
import { migrate, ownMigrations, requireOwnSchema } from '../../src/store/migrate.ts'
import { addMonth } from '../../src/store/months.ts'
import { restoreBackup } from '../../src/store/restore.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase, silentLog, testDatabase } from '../database.ts'

const now = new Date('2026-11-21T10:00:00Z')
const folder = await mkdtemp(path.join(tmpdir(), 'drover-backup-'))
afterAll(() => rm(folder, { recursive: true, force: true }))
const source = await testDatabase()
const { database } = source
const file = path.join(folder, 'whole.backup')

/** Awkward on purpose: what COPY must quote, bytes, arrays, JSON with everything in it. */
const AWKWARD = 'tab\t newline\n backslash \\ \\N quote " é 😀 '

const take = (name: string, url = source.url) =>
  writeBackupFile(path.join(folder, name), write => writeBackup({ url, write, now }))
const restore = (from: string, url: string) => restoreBackup({ url, read: () => readBackupFile(from), log: silentLog })
const empty = () => createTestDatabase({ migrated: false })

/** Every row of every table as text, in order: what a restore must give back. When migrations ran is each database's own. */
async function contents(db: typeof database): Promise<Record<string, string[]>> {
  const tables = await db.query<{ name: string }>(sql`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
       and relname <> 'schema_migration' order by relname`)
  const all: Record<string, string[]> = {}
  for (const { name } of tables) {
    const { rows } = await db.executeSql(`select t::text as row from ${name} t order by 1`, [])
    all[name] = rows.map(({ row }) => String(row))
  }
  return all
}

beforeAll(async () => {
  await readyMonths(database, now)
  await addMonth(database, monthOf(now, -3))
  await database.query(
    sql`insert into organization (name, document, created_at) values ('first', ${{ note: AWKWARD }}, ${now})`,
  )
  await database.query(sql`insert into organization (name, created_at) values ('second', ${now})`)
  await database.query(sql`
    insert into users (email, organization, profile, password_hash, api_key_hash, api_key_sealed, created_at)
    select 'a@b', organization, 'root', 'x', '\\x00ff10', '\\x', ${now} from organization where name = 'first'`)
  for (const away of [0, -3]) {
    const job = firstNumberAt(monthOf(now, away).startsAt.getTime()) + 5n
    await database.query(sql`
      insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, ended_at, description)
      select ${job}, 7, n, 1, 'FINISHED', 'SUCCESSFUL', 'successful', 1, ${now}, ${AWKWARD} from generate_series(1, 3000) n`)
  }
  await database.query(sql`
    insert into operation_timer (due_at, duty, jobs, partitions, entities) values (${now}, 'deadline', '{1,2}', '{3,4}', '{5,6}')`)
})

describe('a backup', () => {
  test('gives every row back, and what is numbered goes on where it was', async () => {
    const figures = await take('whole.backup')
    expect(figures.rows).toBeGreaterThan(6_000)
    const copy = await empty()
    const restored = await restore(file, copy.url)
    expect(restored).toMatchObject({ rows: figures.rows, tables: figures.tables, migrated: [] })
    expect(await contents(copy.database)).toEqual(await contents(database))
    const [made] = await copy.database.query<{ organization: number }>(
      sql`insert into organization (name, created_at) values ('third', ${now}) returning organization`,
    )
    const [highest] = await database.query<{ highest: number }>(
      sql`select max(organization) as highest from organization`,
    )
    expect(made!.organization).toBe(highest!.highest + 1)
    await copy.close()
  })

  test('is one snapshot: what is committed while it is taken is in it as a whole or not at all', async () => {
    const name = path.join(folder, 'snapshot.backup')
    let interfered = false
    await writeBackupFile(name, write =>
      writeBackup({
        url: source.url,
        now,
        async write(bytes) {
          if (!interfered && bytes.includes('"table"')) {
            interfered = true
            await database.transaction(async tx => {
              await tx.query(sql`insert into organization (name, created_at) values ('meanwhile', ${now})`)
              await tx.query(sql`insert into setting (name, value) values ('meanwhile', '1')`)
            })
          }
          await write(bytes)
        },
      }),
    )
    const copy = await empty()
    await restore(name, copy.url)
    const found = await copy.database.query(
      sql`select name from organization where name = 'meanwhile' union all select name from setting where name = 'meanwhile'`,
    )
    expect([interfered, found]).toEqual([true, []])
    await copy.close()
  })

  test('is readable by its owner alone, and never takes the place of a file', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const before = await readFile(file)
    await expect(take('whole.backup')).rejects.toThrow('is there already')
    expect(await readFile(file)).toEqual(before)
  })

  test('that fails on the way leaves nothing behind', async () => {
    const before = await readdir(folder)
    await expect(
      writeBackupFile(path.join(folder, 'half.backup'), async write => {
        await write(Buffer.from('half'))
        throw new Error('the database went away')
      }),
    ).rejects.toThrow('the database went away')
    await expect(take('nowhere.backup', 'postgres://nobody@127.0.0.1:1/none')).rejects.toThrow('ECONNREFUSED')
    expect(await readdir(folder)).toEqual(before)
  })
})

describe('a restore is refused, and changes nothing,', () => {
  async function refused(from: string, words: RegExp): Promise<void> {
    const target = await empty()
    await expect(restore(from, target.url)).rejects.toThrow(words)
    expect(await target.database.query(sql`select from pg_class where relnamespace = 'public'::regnamespace`)).toEqual(
      [],
    )
    await target.close()
  }

  test('where the file breaks off', async () => {
    const cut = path.join(folder, 'cut.backup')
    await writeFile(cut, await readFile(file))
    await truncate(cut, Math.floor((await stat(file)).size / 2))
    await refused(cut, /cut\.backup.*(breaks off|damaged)/)
  })

  test('where a byte of it is another', async () => {
    const damaged = path.join(folder, 'damaged.backup')
    const bytes = gunzipSync(await readFile(file))
    const at = bytes.indexOf('newline')
    bytes[at] = bytes[at]! ^ 1
    await writeFile(damaged, gzipSync(bytes))
    await refused(damaged, /its checksum is/)
  })

  test('where it is no backup', async () => {
    const other = path.join(folder, 'other.backup')
    await writeFile(other, 'something else')
    await refused(other, /no backup/)
    await writeFile(other, gzipSync('{"something":"else"}\n'))
    await refused(other, /no backup/)
    await refused(path.join(folder, 'missing'), /is not there/)
  })

  test('where a newer build took it', async () => {
    const newer = path.join(folder, 'newer.backup')
    await rewriteHeader(newer, header => header.migrations.push({ name: '9999_from_the_future', sha256: 'x' }))
    await refused(newer, /newer build.*9999_from_the_future/)
  })

  test('where the database is not empty', async () => {
    const full = await createTestDatabase()
    await full.database.query(sql`insert into organization (name, created_at) values ('mine', ${now})`)
    await expect(restore(file, full.url)).rejects.toThrow('The database is not empty: there are rows in organization')
    expect(await full.database.query(sql`select name from organization`)).toEqual([{ name: 'mine' }])
    await full.close()
    const foreign = await empty()
    await foreign.database.executeSql('create table theirs (n int)')
    await expect(restore(file, foreign.url)).rejects.toThrow('it has 1 tables, among them theirs')
    await foreign.close()
  })
})

test('a backup of an older build is restored and brought up to this one', async () => {
  const migrations = await ownMigrations()
  const older = await empty()
  await migrate({ url: older.url, log: silentLog, count: migrations.length - 1 })
  await older.database.query(sql`insert into setting (name, value) values ('from', 'before')`)
  await take('older.backup', older.url)
  const target = await empty()
  const { migrated } = await restore(path.join(folder, 'older.backup'), target.url)
  expect(migrated).toEqual([migrations.at(-1)!.name])
  expect(await target.database.query(sql`select value from setting where name = 'from'`)).toEqual([{ value: 'before' }])
  await older.close()
  await target.close()
})

test('a restore that broke off leaves a database that is no service’s and no backup’s, until it is done again', async () => {
  const migrations = await ownMigrations()
  const older = await empty()
  await migrate({ url: older.url, log: silentLog, count: migrations.length - 1 })
  await older.database.query(sql`insert into setting (name, value) values ('from', 'before')`)
  await take('to-break.backup', older.url)
  const from = path.join(folder, 'to-break.backup')
  const target = await empty()
  let readings = 0
  async function* breaking() {
    readings += 1
    for await (const record of readBackupFile(from)) {
      if (readings > 1 && 'sequence' in record.record) throw new Error('the disk is gone')
      yield record
    }
  }
  await expect(restoreBackup({ url: target.url, read: breaking, log: silentLog })).rejects.toThrow('the disk is gone')
  expect(await target.database.query(sql`select from setting`)).toEqual([])
  const unfinished = 'A restore into this database has begun and not ended'
  await expect(migrate({ url: target.url, log: silentLog })).rejects.toThrow(unfinished)
  await expect(requireOwnSchema(target.url)).rejects.toThrow(unfinished)
  await expect(take('of-nothing.backup', target.url)).rejects.toThrow(unfinished)
  expect((await restore(from, target.url)).migrated).toEqual([migrations.at(-1)!.name])
  expect(await target.database.query(sql`select value from setting where name = 'from'`)).toEqual([{ value: 'before' }])
  expect(await migrate({ url: target.url, log: silentLog })).toEqual([])
  await older.close()
  await target.close()
})

interface Header {
  migrations: { name: string; sha256: string }[]
}

/** Writes the backup again with another header and the checksum that belongs to it. */
async function rewriteHeader(to: string, change: (header: Header) => void): Promise<void> {
  const bytes = gunzipSync(await readFile(file))
  const end = bytes.indexOf(10) + 1
  const header = JSON.parse(bytes.subarray(0, end).toString()) as Header
  change(header)
  const last = bytes.lastIndexOf(10, bytes.length - 2) + 1
  const body = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), bytes.subarray(end, last)])
  const sha256 = createHash('sha256').update(body).digest('hex')
  await writeFile(to, gzipSync(Buffer.concat([body, Buffer.from(`${JSON.stringify({ sha256 })}\n`)])))
}
