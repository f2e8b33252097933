/**
 * The process of `drover backup`, `restore` and `prune`: has the work done on the database itself, as an operator may, with or without a
 * service running on it, and tells people or programs how it goes. What is to be done comes as a word and one JSON object, which the
 * command line has read and judged; how it is done is the affair of store and engine.
 */
import { stat } from 'node:fs/promises'
import type { Logger } from 'pino'
import { CommandFailed, EXIT } from './cli/frame/exit-codes.ts'
import { tellFailure } from './cli/frame/failures.ts'
import { createOutput, type Output, type Progress } from './cli/frame/output.ts'
import { processSurroundings } from './cli/frame/surroundings.ts'
import { type Config, readConfig } from './config/config.ts'
import { monthOf } from './domain/months.ts'
import { findOutdated, prune } from './engine/retention.ts'
import { operatorFailure } from './operator-failure.ts'
import { writeBackup } from './store/backup.ts'
import { readBackupFile, writeBackupFile } from './store/backup-file.ts'
import { openDatabase } from './store/database.ts'
import { onDatabaseAtHand } from './store/database-at-hand.ts'
import { requireOwnSchema } from './store/migrate.ts'
import { restoreBackup } from './store/restore.ts'
import { Unfit } from './store/unfit.ts'
import { createLog } from './telemetry/log.ts'

interface Work {
  readonly config: Config
  readonly log: Logger
  readonly out: Output
  /** aborted when whoever started it wants it to end */
  readonly ending: AbortSignal
}

const MEGABYTE = 1_000_000

/** Shows how far something has come, and ends the bar with it. */
async function withBar<T>({ out }: Work, what: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = out.progress(what)
  try {
    return await work(progress)
  } finally {
    progress.end()
  }
}

const megabytes = (bytes: number) => Math.ceil(bytes / MEGABYTE)
const inMegabytes =
  ({ show }: Progress) =>
  (done: number, of: number) =>
    show(done / Math.max(1, of), `${megabytes(done)} of ${megabytes(of)} MB`)
const count = (value: number, noun: string) => `${value.toLocaleString('en')} ${value === 1 ? noun : `${noun}s`}`

interface OfFile {
  readonly file: string
}

async function backup(work: Work, { file }: OfFile): Promise<void> {
  const figures = await onDatabaseAtHand({ ...work.config, log: work.log, mayMake: false }, url =>
    withBar(work, 'Backing up', progress =>
      writeBackupFile(file, write =>
        writeBackup({ url, write, now: new Date(), onProgress: inMegabytes(progress), signal: work.ending }),
      ),
    ),
  )
  const { size } = await stat(file)
  const { tables, rows, schema } = figures
  await work.out.line(
    { file, size, ...figures },
    () =>
      `${file}: ${count(rows, 'row')} of ${count(tables, 'table')} in ${(size / MEGABYTE).toFixed(1)} MB, schema ${schema}`,
  )
}

async function restore(work: Work, { file }: OfFile): Promise<void> {
  const { size } = await stat(file).catch(() => {
    throw new Unfit('file', `${file} is not there`)
  })
  const figures = await onDatabaseAtHand({ ...work.config, log: work.log, mayMake: true }, url =>
    withBar(work, 'Restoring', progress => {
      // Read twice: once to see that it is whole, once to restore it.
      let read = 0
      const show = inMegabytes(progress)
      async function* reading() {
        const records = readBackupFile(file, bytes => {
          read += bytes
          show(read, size * 2)
        })
        for await (const record of records) {
          work.ending.throwIfAborted()
          yield record
        }
      }
      return restoreBackup({ url, read: reading, log: work.log })
    }),
  )
  const { tables, rows, createdAt, migrated } = figures
  const then = migrated.length > 0 ? `, then ${count(migrated.length, 'migration')} of this build` : ''
  await work.out.line(
    { file, ...figures },
    () => `${count(rows, 'row')} of ${count(tables, 'table')} restored from ${file}, taken ${createdAt}${then}`,
  )
}

interface Pruning {
  readonly months?: number
  readonly dryRun: boolean
}

async function letGo(
  work: Work,
  { months = work.config.retentionMonths ?? undefined, dryRun }: Pruning,
): Promise<void> {
  const { log } = work
  if (months === undefined)
    throw new CommandFailed('usage', 'How much is to be kept? Say --months, or set DROVER_RETENTION_MONTHS')
  const before = monthOf(new Date(), -months)
  const { kept, isLeft, ...told } = await onDatabaseAtHand({ ...work.config, log, mayMake: false }, async url => {
    await requireOwnSchema(url)
    const database = openDatabase({ url, log, max: 4, applicationName: 'drover prune' })
    try {
      if (dryRun) return { ...(await findOutdated(database, before)), isLeft: false }
      return await withBar(work, 'Pruning', ({ show }) =>
        prune(database, before, {
          signal: work.ending,
          onProgress: ({ months, jobs }, share) =>
            show(share, `${count(months.length, 'month')} and ${count(jobs, 'job')}`),
        }),
      )
    } finally {
      await database.close()
    }
  })
  const named = told.months.length > 0 ? ` (${told.months.join(', ')})` : ''
  const still = kept.length > 0 ? `; ${kept.join(', ')} stay, since jobs of them still run` : ''
  await work.out.line(
    { before: before.startsAt, ...told, kept, dryRun },
    () =>
      `${count(told.months.length, 'month')} of ended operations${named} and ${count(told.jobs, 'job')} from before ` +
      `${before.startsAt.toISOString().slice(0, 10)} ${dryRun ? 'would go' : 'are gone'}${still}`,
  )
  if (isLeft)
    throw new CommandFailed('failed', 'A month could not be locked, as while a backup is taken: prune again later')
}

const [, , word, given = '{}'] = process.argv
const { json, ...asked }: { json: boolean } & OfFile & Pruning = JSON.parse(given)
const surroundings = processSurroundings()
const out = createOutput({ json, utc: false }, surroundings)
const stopped = new AbortController()
process.once('SIGTERM', () => stopped.abort())
const ending = AbortSignal.any([surroundings.interrupted, stopped.signal])
try {
  const config = readConfig(process.env)
  const log = createLog(config.logLevel === 'info' ? 'error' : config.logLevel, process.stderr)
  const work = { config, log, out, ending }
  const run = word === 'backup' ? backup : word === 'restore' ? restore : word === 'prune' ? letGo : undefined
  if (run === undefined) throw new CommandFailed('usage', 'What is to be done? backup, restore or prune')
  await run(work, asked)
} catch (error) {
  const { kind, told } = ending.aborted ? { kind: 'interrupted' as const, told: error } : operatorFailure(error)
  process.exitCode = EXIT[tellFailure(told, kind, { json, stderr: process.stderr })]
}
