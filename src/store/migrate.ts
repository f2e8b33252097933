/**
 * Brings the schema of a database up to this build: plain SQL files, forward only, each once, even when many processes start
 * together. It refuses a schema newer than the build, and a file that was changed after it had run.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
import type { Logger } from 'pino'
import { Unfit } from './unfit.ts'

export interface MigrateOptions {
  url: string
  log: Logger
  /** Where the files `NNNN_name.sql` lie; those of this build unless told. */
  folder?: string
  /** At most so many of those that the database lacks: all unless told. */
  count?: number
  /** Told by a restore, which alone works on a database that it has marked. */
  isRestoring?: boolean
}

interface MigrationFile {
  name: string
  text: string
  sha256: string
}

const ownFolder = path.join(import.meta.dirname, '..', '..', 'migrations')
/** Any number will do that nobody else takes as an advisory lock; "drover" on a telephone's keys. */
const lockNumber = 376837
const lockTimeoutMs = 120_000
const table = 'schema_migration'
const checksumTable = 'schema_migration_checksum'

/** The tables in which is written what has run: each database's own, never copied. */
export const MIGRATION_TABLES = [table, checksumTable]

/** The table, empty and without a column, that stands in a database from the beginning of a restore until its rows are there. */
export const RESTORE_MARK = 'restore_unfinished'

/** Refuses a database whose restore broke off: it looks like one that was never used. */
export async function refuseUnfinished(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [RESTORE_MARK])
  if (!rows[0]?.found) return
  throw new Unfit(
    'database',
    'A restore into this database has begun and not ended, so that nothing is in it: restore again, or take an empty database',
  )
}

/** What has run in a database, in order; nothing where there is no schema. */
export async function appliedMigrations(client: pg.Client): Promise<{ name: string; sha256: string }[]> {
  const { rows } = await client.query<{ found: boolean }>(`select to_regclass($1) is not null as found`, [
    checksumTable,
  ])
  if (!rows[0]?.found) return []
  return (
    await client.query<{ name: string; sha256: string }>(`select name, sha256 from ${checksumTable} order by name`)
  ).rows
}

/** What this build would run, in order. */
export async function ownMigrations(folder = ownFolder): Promise<{ name: string; sha256: string }[]> {
  return (await readMigrations(folder)).map(({ name, sha256 }) => ({ name, sha256 }))
}

async function readMigrations(folder: string): Promise<MigrationFile[]> {
  const names = (await readdir(folder)).filter(name => /^\d{4}_.+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async name => {
      const text = await readFile(path.join(folder, name), 'utf8')
      return { name: path.basename(name, '.sql'), text, sha256: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

/**
 * The statements of a file, each ended by a semicolon at the end of a line outside `$$`: sent one by one, so that an error points
 * at its statement and a distributed database sees one change of the schema per call.
 */
export function splitStatements(text: string): string[] {
  const pieces: string[] = []
  let piece = ''
  let quoted = false
  for (const line of text.split('\n')) {
    piece += `${line}\n`
    const code = line.replace(/--.*$/, '')
    if ((code.split('$$').length - 1) % 2 === 1) quoted = !quoted
    if (!quoted && code.trimEnd().endsWith(';')) {
      pieces.push(piece.trim())
      piece = ''
    }
  }
  if (piece.replace(/--.*$/gm, '').trim() !== '') pieces.push(piece.trim())
  return pieces
}

/** Fails with a clear word where a database has another schema than this build's, or a restore into it broke off; it changes nothing. */
export async function requireOwnSchema(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    await refuseUnfinished(client)
    const [applied, own] = [await appliedMigrations(client), await ownMigrations()]
    const last = applied.at(-1)?.name ?? 'none'
    if (applied.length === own.length && last === own.at(-1)?.name) return
    throw new Unfit(
      'database',
      `The schema of the database is at ${last}, that of this build at ${own.at(-1)?.name}: use the build that serves it`,
    )
  } finally {
    await client.end()
  }
}

/** Refuses a schema that this build does not know, before anything is changed. */
async function refuseStrangers(client: pg.Client, files: readonly MigrationFile[]): Promise<void> {
  const { rows } = await client.query<{ name: string; sha256: string }>(`select name, sha256 from ${checksumTable}`)
  const known = new Map(files.map(file => [file.name, file]))
  const unknown = rows.filter(row => !known.has(row.name)).map(row => row.name)
  if (unknown.length > 0) {
    throw new Unfit(
      'database',
      `The database's schema is newer than this build, which does not know ${unknown.sort().join(', ')}: ` +
        'start a build that does, or restore a backup from before',
    )
  }
  const changed = rows.filter(row => known.get(row.name)?.sha256 !== row.sha256).map(row => row.name)
  if (changed.length > 0) {
    throw new Error(`The migration ${changed.sort().join(', ')} was changed after it had run: write a new one instead`)
  }
}

/**
 * Runs the migrations that the database lacks, in one transaction, and answers their names. Whoever comes second waits, at most two
 * minutes, and finds nothing left to do.
 */
export async function migrate({ url, log, folder = ownFolder, count, isRestoring }: MigrateOptions): Promise<string[]> {
  const files = await readMigrations(folder)
  const client = new pg.Client({
    connectionString: url,
    application_name: 'drover migrate',
    connectionTimeoutMillis: 10_000,
    options: `-c lock_timeout=${lockTimeoutMs} -c timezone=UTC`,
  })
  client.on('error', error => log.warn({ err: error }, 'the connection of the migration was lost'))
  await client.connect()
  try {
    // Held to the end of the session; the library's own lock comes too late for the look at the table.
    await client.query('select pg_advisory_lock($1)', [lockNumber])
    if (!isRestoring) await refuseUnfinished(client)
    await client.query(`create table if not exists ${checksumTable} (name text primary key, sha256 text not null)`)
    await refuseStrangers(client, files)
    const done = await runner({
      dbClient: client,
      dir: folder,
      ignorePattern: '(?!\\d{4}_.+\\.sql$).*',
      direction: 'up',
      migrationsTable: table,
      noLock: true,
      ...(count !== undefined && { count }),
      singleTransaction: true,
      logger: {
        debug: log.debug.bind(log),
        info: log.debug.bind(log),
        warn: log.warn.bind(log),
        error: log.error.bind(log),
      },
      migrationLoaderStrategies: [
        {
          extensions: ['.sql'],
          loader: async paths =>
            files
              .map(file => ({ file, id: paths.find(each => path.basename(each, '.sql') === file.name) ?? file.name }))
              .map(({ file, id }) => ({
                id,
                filePaths: [id],
                actions: {
                  up: pgm => {
                    for (const text of splitStatements(file.text)) pgm.sql(text)
                    pgm.sql(`insert into ${checksumTable} (name, sha256) values ('${file.name}', '${file.sha256}')`)
                  },
                  down: false,
                },
              })),
        },
      ],
    })
    const names = done.map(({ name }) => name)
    if (names.length > 0) log.info({ migrations: names }, 'the schema was brought up to this build')
    return names
  } finally {
    await client.end()
  }
}
