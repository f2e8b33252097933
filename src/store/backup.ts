/**
 * Takes a backup: every table by COPY, all of them in one snapshot, while the service goes on. It changes nothing, and knows no table by
 * its name. What pg-boss keeps is left out: the log of deliveries says what is still to be delivered.
 */
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { BACKUP_FORMAT, backupWriter } from './backup-format.ts'
import { appliedMigrations, MIGRATION_TABLES, refuseUnfinished } from './migrate.ts'

export interface BackupOptions {
  readonly url: string
  readonly write: (bytes: Buffer) => Promise<void>
  readonly now: Date
  /** told how far it is: bytes copied, of about so many */
  readonly onProgress?: (copied: number, of: number) => void
  readonly signal?: AbortSignal
}

export interface BackupFigures {
  readonly tables: number
  readonly rows: number
  readonly bytes: number
  /** the last migration */
  readonly schema: string
}

interface Table {
  readonly name: string
  readonly columns: string[]
  readonly size: number
  /** tables that its foreign keys point to */
  readonly needs: string[]
}

const tablesSql = `
  select c.relname as name, pg_table_size(c.oid)::float8 as size,
         array(select a.attname::text from pg_attribute a
                where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
         array(select distinct f.confrelid::regclass::text from pg_constraint f
                where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as needs
    from pg_class c
   where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> all($1)
   order by c.relname`

const sequencesSql = `
  select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'S' order by 1`

/** Writes a backup. Fails as the database or the writer does. */
export async function writeBackup({ url, write, now, onProgress, signal }: BackupOptions): Promise<BackupFigures> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'drover backup',
    connectionTimeoutMillis: 10_000,
    options: '-c timezone=UTC -c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c lock_timeout=60000',
  })
  client.on('error', () => {})
  const abort = () => void client.end().catch(() => {})
  await client.connect()
  try {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', abort, { once: true })
    await client.query('begin isolation level repeatable read read only')
    await refuseUnfinished(client)
    const tables = inOrderOfNeed((await client.query<Table>(tablesSql, [MIGRATION_TABLES])).rows)
    // Months are dropped and tables changed meanwhile only by whoever waits for us; readers and writers do not.
    if (tables.length > 0) await client.query(`lock table ${tables.map(quoted).join(', ')} in access share mode`)
    const migrations = await appliedMigrations(client)
    const { rows: versions } = await client.query<{ version: string }>(
      `select current_setting('server_version') as version`,
    )
    const writer = backupWriter(write)
    await writer.line({
      drover: 'backup',
      format: BACKUP_FORMAT,
      createdAt: now.toISOString(),
      postgres: versions[0]?.version ?? '',
      migrations,
      months: tables.flatMap(({ name }) => /^operation_ended_(\d{4}_\d{2})$/.exec(name)?.[1] ?? []),
      tables: tables.map(({ name }) => name),
    })
    const of = tables.reduce((sum, { size }) => sum + size, 0)
    let before = 0
    const figures = { rows: 0, bytes: 0 }
    for (const table of tables) {
      const { name, columns, size } = table
      await writer.line({ table: name, columns })
      let copied = 0
      const copy = client.query(
        copyTo(`copy ${quoted(table)} (${columns.map(pg.escapeIdentifier).join(', ')}) to stdout`),
      )
      await pipeline(copy, async source => {
        for await (const chunk of gathered(source)) {
          await writer.chunk(chunk)
          copied += chunk.length
          onProgress?.(before + Math.min(copied, size), of)
        }
      })
      await writer.line({ rows: copy.rowCount })
      before += size
      figures.rows += copy.rowCount
      figures.bytes += copied
      onProgress?.(before, of)
    }
    for (const { name } of (await client.query<{ name: string }>(sequencesSql)).rows) {
      const { rows } = await client.query<{ value: string; called: boolean }>(
        `select last_value::text as value, is_called as called from ${pg.escapeIdentifier(name)}`,
      )
      await writer.line({ sequence: name, ...rows[0]! })
    }
    await writer.end()
    await client.query('commit')
    return { tables: tables.length, ...figures, schema: migrations.at(-1)?.name ?? '' }
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', abort)
    await client.end().catch(() => {})
  }
}

const quoted = ({ name }: { readonly name: string }) => pg.escapeIdentifier(name)

/** Tables behind those that they point to. Foreign keys in a circle would not come to an end, and fail. */
function inOrderOfNeed(tables: readonly Table[]): Table[] {
  const sorted: Table[] = []
  const done = new Set<string>()
  let waiting = [...tables]
  while (waiting.length > 0) {
    const free = waiting.filter(({ needs }) =>
      needs.every(need => done.has(need) || !tables.some(({ name }) => name === need)),
    )
    if (free.length === 0)
      throw new Error(`the tables ${waiting.map(({ name }) => name).join(', ')} point to each other`)
    for (const table of free) done.add(table.name)
    sorted.push(...free)
    waiting = waiting.filter(({ name }) => !done.has(name))
  }
  return sorted
}

const GATHER_BYTES = 262_144

/** The server sends a row at a time: they are gathered, so that a chunk is worth its line. */
async function* gathered(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const part of source) {
    parts.push(part)
    bytes += part.length
    if (bytes < GATHER_BYTES) continue
    yield Buffer.concat(parts)
    parts = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(parts)
}
