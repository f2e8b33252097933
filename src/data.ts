/**
 * The process of `drover backup`, `restore` and `prune`: works on the database itself, as an operator may, with or without a service
 * running on it. It finds the database by the configuration of the service and starts the embedded one where nobody else runs it.
 */
import { stat } from 'node:fs/promises'
import cliProgress from 'cli-progress'
import { Command, InvalidArgumentError } from 'commander'
import type { Logger } from 'pino'
import { type Config, ConfigError, readConfig } from './config/config.ts'
import { monthOf } from './domain/months.ts'
import { findOutdated, letGoBefore } from './engine/retention.ts'
import { writeBackup } from './store/backup.ts'
import { readBackupFile, writeBackupFile } from './store/backup-file.ts'
import { holdDataFolder } from './store/data-folder.ts'
import { openDatabase } from './store/database.ts'
import { runningEmbeddedUrl, startEmbeddedPostgres } from './store/embedded-postgres.ts'
import { requireOwnSchema } from './store/migrate.ts'
import { restoreBackup } from './store/restore.ts'
import { createLog } from './telemetry/log.ts'

interface Surroundings {
  readonly config: Config
  readonly log: Logger
}

const MEGABYTE = 1_000_000
const JOBS_PER_CHUNK = 1_000
/** A month whose lock cannot be had, as while a backup is taken, is left to the next time. */
const TURNS_IN_VAIN_MAX = 20

/** Gives work the address of the database: a restore may make the embedded one, the others need it to be there. */
async function onDatabase<T>(
  { config, log }: Surroundings,
  mayMake: boolean,
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (config.databaseUrl !== null) return await work(config.databaseUrl)
  if (!mayMake) {
    const running = await runningEmbeddedUrl(config.dataDir, log)
    if (running !== null) return await work(running)
  }
  const folder = await holdDataFolder(config.dataDir)
  try {
    const embedded = await startEmbeddedPostgres({ dataDir: folder.path, log })
    try {
      return await work(embedded.url)
    } finally {
      await embedded.stop()
    }
  } finally {
    folder.release()
  }
}

/** A bar of megabytes on a terminal; nothing elsewhere. */
async function withBar<T>(
  what: string,
  work: (onProgress: (done: number, of: number) => void) => Promise<T>,
): Promise<T> {
  const bar = new cliProgress.SingleBar({
    format: `${what} {bar} {percentage}% | {value}/{total} MB | {eta_formatted} left`,
    hideCursor: true,
    clearOnComplete: true,
    stopOnComplete: false,
    stream: process.stderr,
    noTTYOutput: false,
  })
  const inMegabytes = (bytes: number) => Math.ceil(bytes / MEGABYTE)
  let started = false
  try {
    return await work((done, of) => {
      if (!started) bar.start(inMegabytes(of), 0)
      started = true
      bar.update(inMegabytes(done))
    })
  } finally {
    if (started) bar.stop()
  }
}

interface Output {
  readonly json: boolean
}

function say({ json }: Output, figures: object, words: string): void {
  process.stdout.write(json ? `${JSON.stringify(figures)}\n` : `${words}\n`)
}

const count = (value: number, noun: string) => `${value.toLocaleString('en')} ${value === 1 ? noun : `${noun}s`}`

async function backup(surroundings: Surroundings, file: string, output: Output): Promise<void> {
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort(new Error('interrupted')))
  process.once('SIGTERM', () => interrupted.abort(new Error('stopped')))
  const figures = await onDatabase(surroundings, false, url =>
    withBar('backup ', onProgress =>
      writeBackupFile(file, write =>
        writeBackup({ url, write, now: new Date(), onProgress, signal: interrupted.signal }),
      ),
    ),
  )
  const { size } = await stat(file)
  const { tables, rows, schema } = figures
  say(
    output,
    { file, size, ...figures },
    `${file}: ${count(rows, 'row')} of ${count(tables, 'table')} in ${(size / MEGABYTE).toFixed(1)} MB, schema ${schema}`,
  )
}

async function restore(surroundings: Surroundings, file: string, output: Output): Promise<void> {
  const { size } = await stat(file).catch(() => {
    throw new Error(`${file} is not there`)
  })
  const figures = await onDatabase(surroundings, true, url =>
    withBar('restore', onProgress => {
      // Read twice: once to see that it is whole, once to restore it.
      let read = 0
      const reading = () =>
        readBackupFile(file, bytes => {
          read += bytes
          onProgress(read, size * 2)
        })
      return restoreBackup({ url, read: reading, log: surroundings.log })
    }),
  )
  const { tables, rows, createdAt, migrated } = figures
  const then = migrated.length > 0 ? `, then ${count(migrated.length, 'migration')} of this build` : ''
  say(
    output,
    { file, ...figures },
    `${count(rows, 'row')} of ${count(tables, 'table')} restored from ${file}, taken ${createdAt}${then}`,
  )
}

interface PruneOptions extends Output {
  readonly months?: number
  readonly dryRun: boolean
}

async function prune(surroundings: Surroundings, options: PruneOptions): Promise<void> {
  const months = options.months ?? surroundings.config.retentionMonths
  if (months === null) throw new Error('How much is to be kept? Say --months, or set DROVER_RETENTION_MONTHS')
  await onDatabase(surroundings, false, async url => {
    const { log } = surroundings
    await requireOwnSchema(url)
    const database = openDatabase({ url, log, max: 4, applicationName: 'drover prune' })
    try {
      const before = monthOf(new Date(), -months)
      const { kept, ...found } = await findOutdated(database, before)
      const gone = { months: [] as string[], jobs: 0 }
      for (let [more, inVain] = [!options.dryRun, 0]; more && inVain < TURNS_IN_VAIN_MAX; ) {
        const turn = await letGoBefore(database, before, JOBS_PER_CHUNK)
        gone.months.push(...turn.months)
        gone.jobs += turn.jobs
        more = turn.more
        inVain = turn.months.length + turn.jobs > 0 ? 0 : inVain + 1
      }
      const told = options.dryRun ? found : gone
      const still = kept.length > 0 ? `; ${kept.join(', ')} stay, since jobs of them still run` : ''
      say(
        options,
        { before: before.startsAt, ...told, kept, dryRun: options.dryRun },
        `${count(told.months.length, 'month')} of ended operations${told.months.length > 0 ? ` (${told.months.join(', ')})` : ''} and ` +
          `${count(told.jobs, 'job')} from before ${before.startsAt.toISOString().slice(0, 10)} ${options.dryRun ? 'would go' : 'are gone'}${still}`,
      )
    } finally {
      await database.close()
    }
  })
}

const wholeMonths = (text: string) => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > 1_200) {
    throw new InvalidArgumentError('It must be a whole number from 1 to 1200.')
  }
  return value
}

function surroundings(): Surroundings {
  const config = readConfig(process.env)
  return { config, log: createLog(config.logLevel === 'info' ? 'error' : config.logLevel, process.stderr) }
}

const json = ['--json', 'print one JSON document', false] as const
const where = '\nThe database is that of DATABASE_URL, or else the embedded one in DROVER_DATA_DIR.'

const program = new Command('drover')
program
  .command('backup <file>')
  .description('writes everything into one file, in one snapshot, while the service goes on')
  .option(...json)
  .addHelpText('after', `${where} The file is readable by its owner alone; it holds what is secret too.`)
  .action((file: string, options: Output) => backup(surroundings(), file, options))
program
  .command('restore <file>')
  .description('restores a backup into an empty database, and brings it up to this build')
  .option(...json)
  .addHelpText('after', `${where} Nothing else may run on it meanwhile.`)
  .action((file: string, options: Output) => restore(surroundings(), file, options))
program
  .command('prune')
  .description('lets old ended operations go, a month at a time, with their jobs')
  .option('--months <n>', 'keep so many months beside the present one (default: DROVER_RETENTION_MONTHS)', wholeMonths)
  .option('--dry-run', 'only tell what would go', false)
  .option(...json)
  .addHelpText('after', where)
  .action((options: PruneOptions) => prune(surroundings(), options))

try {
  await program.parseAsync()
} catch (error) {
  const words = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${words}\n`)
  process.exitCode = error instanceof ConfigError ? 2 : 1
}
