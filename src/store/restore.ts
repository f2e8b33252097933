/**
 * Restores a backup into an empty database of any server from PostgreSQL 15 on, and brings the schema up to this build. It reads the whole
 * backup before it changes anything, and fills the tables in one transaction.
 */
import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Logger } from 'pino'
import { monthNamed } from '../domain/months.ts'
import { type BackupHeader, BrokenBackup, type ReadRecord } from './backup-format.ts'
import { appliedMigrations, MIGRATION_TABLES, migrate, ownMigrations, RESTORE_MARK } from './migrate.ts'
import { Unfit } from './unfit.ts'

export interface RestoreOptions {
  readonly url: string
  /** the records from the beginning, each time it is called: once to see that they are whole, once to restore them */
  readonly read: () => AsyncIterable<ReadRecord>
  readonly log: Logger
  /** the migrations of this build, unless told */
  readonly folder?: string
}

export interface RestoreFigures {
  readonly createdAt: string
  readonly tables: number
  readonly rows: number
  /** migrations that ran after the tables were filled */
  readonly migrated: readonly string[]
}

/** Any number will do that nobody else takes as an advisory lock, beside that of the migrations. */
const lockNumber = 376_839
const POSTGRES_LEAST = 150_000

/**
 * Restores. Fails with a clear word, leaving no rows, where the backup is broken or newer, or the database is not empty. However it ends
 * before its rows are there, the database is marked: no service starts on it, and it is restored into again.
 */
export async function restoreBackup({ url, read, log, folder }: RestoreOptions): Promise<RestoreFigures> {
  const header = await verified(read())
  const own = await ownMigrations(folder)
  refuseNewer(header, own)
  const client = new pg.Client({
    connectionString: url,
    application_name: 'drover restore',
    connectionTimeoutMillis: 10_000,
    options: '-c timezone=UTC -c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c lock_timeout=60000',
  })
  client.on('error', error => log.warn({ err: error }, 'the connection of the restore was lost'))
  await client.connect()
  try {
    await refuseOthers(client)
    await refuseOldServer(client)
    const applied = await refuseFull(client, header)
    const into = { url, log, ...(folder !== undefined && { folder }) }
    await client.query(`create table if not exists ${RESTORE_MARK} ()`)
    await migrate({ ...into, count: header.migrations.length - applied, isRestoring: true })
    await client.query('begin')
    await makeMonths(client, header)
    const rows = await fill(client, read())
    await client.query(`drop table ${RESTORE_MARK}`)
    await client.query('commit')
    const migrated = await migrate(into)
    await client.query('analyze')
    return { createdAt: header.createdAt, tables: header.tables.length, rows, migrated }
  } finally {
    await client.end().catch(() => {})
  }
}

/** Reads everything; answers the header once the checksum is found right. */
async function verified(records: AsyncIterable<ReadRecord>): Promise<BackupHeader> {
  let header: BackupHeader | undefined
  for await (const { record } of records) if ('drover' in record) header = record
  if (!header) throw new BrokenBackup('The file is no backup')
  return header
}

function refuseNewer(
  { migrations }: BackupHeader,
  own: readonly { readonly name: string; readonly sha256: string }[],
): void {
  const known = new Map(own.map(({ name, sha256 }) => [name, sha256]))
  const unknown = migrations.filter(({ name }) => !known.has(name)).map(({ name }) => name)
  if (unknown.length > 0) {
    throw new Unfit(
      'database',
      `The backup was taken by a newer build: this one does not know ${unknown.join(', ')}. Restore it with the build that took it, or a later one`,
    )
  }
  const other = migrations.find(({ name, sha256 }, index) => known.get(name) !== sha256 || own[index]?.name !== name)
  if (other)
    throw new Unfit(
      'database',
      `The backup was taken by another build: its migration ${other.name} is not the one of this build`,
    )
}

async function refuseOthers(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [lockNumber])
  if (!rows[0]?.taken) throw new Unfit('database', 'Another restore into this database is under way')
}

async function refuseOldServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; version: string }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
  )
  if ((rows[0]?.number ?? 0) < POSTGRES_LEAST) {
    throw new Unfit('database', `The server is PostgreSQL ${rows[0]?.version}: Drover needs 15 or newer`)
  }
}

/**
 * Empty is: no table at all, or the schema of the backup or of an older one without a row, as a restore that broke off leaves it. Answers how
 * many migrations have run.
 */
async function refuseFull(client: pg.Client, { migrations }: BackupHeader): Promise<number> {
  const { rows } = await client.query<{ name: string; known: boolean }>(
    `select c.oid::regclass::text as name, c.relname = any($1) and c.relnamespace = 'public'::regnamespace as known
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
        and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e')
      order by 1`,
    [[...MIGRATION_TABLES, RESTORE_MARK]],
  )
  const tables = rows.filter(({ known }) => !known)
  for (const { name } of tables) {
    const found = await client.query(`select from ${name} limit 1`)
    if (found.rowCount !== 0) {
      throw new Unfit(
        'database',
        `The database is not empty: there are rows in ${name}. Restore into an empty database`,
      )
    }
  }
  if (tables.length === 0) return 0
  const { length: applied } = await appliedMigrations(client)
  if (applied === 0 || applied > migrations.length) {
    throw new Unfit(
      'database',
      `The database is not empty: it has ${tables.length} tables, among them ${tables[0]!.name}. Restore into an empty database`,
    )
  }
  return applied
}

async function makeMonths(client: pg.Client, { months }: BackupHeader): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c where c.relname ~ '^operation_ended_[0-9]{4}_[0-9]{2}$'`,
  )
  const there = new Set(rows.map(({ name }) => name))
  for (const month of months) {
    const table = `operation_ended_${month}`
    const { from, to } = monthNamed(month)
    if (there.has(table)) continue
    await client.query(`create table ${table} partition of operation_ended for values from (${from}) to (${to})`)
  }
}

/** Copies every table in; answers how many rows there were. */
async function fill(client: pg.Client, records: AsyncIterable<ReadRecord>): Promise<number> {
  let copying: ReturnType<typeof beginCopy> | undefined
  let rows = 0
  for await (const { record } of records) {
    if ('table' in record) copying = beginCopy(client, record.table, record.columns)
    else if ('chunk' in record) await copying?.write(record.chunk)
    else if ('rows' in record) {
      const copied = await copying?.end()
      if (copied !== record.rows)
        throw new BrokenBackup(`The backup has ${record.rows} rows for a table, and ${copied} came in`)
      rows += record.rows
    } else if ('sequence' in record) {
      const { sequence, value, called } = record
      await client.query('select setval($1::text::regclass, $2::bigint, $3)', [
        pg.escapeIdentifier(sequence),
        value,
        called,
      ])
    }
  }
  return rows
}

function beginCopy(client: pg.Client, table: string, columns: readonly string[]) {
  const names = columns.map(pg.escapeIdentifier).join(', ')
  const copy = client.query(copyFrom(`copy ${pg.escapeIdentifier(table)} (${names}) from stdin`))
  const ended = finished(copy)
  ended.catch(() => {})
  return {
    async write(chunk: Buffer): Promise<void> {
      if (!copy.write(chunk)) await Promise.race([once(copy, 'drain'), ended])
    },
    async end(): Promise<number> {
      copy.end()
      await ended
      return copy.rowCount
    },
  }
}
