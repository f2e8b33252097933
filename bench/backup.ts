/**
 * What operations take on the disk, and how long it takes to write all of them into one file and to read that into an empty database:
 * by the commands that an operator has, with a service at rest on the first database.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { monthOf } from '../src/domain/months.ts'
import { MONTHS, makeEnded } from './ended.ts'
import type { Figures, Measurement } from './figures.ts'
import { createJob, letAllWait, onDatabaseOf, summaryOf } from './million-entities.ts'
import { startPostgres } from './postgres.ts'
import { type BenchService, source, startService } from './processes.ts'

const WITHIN_MS = 300_000

export function backup(operations = 1_000_000): Measurement {
  const entities = Math.ceil(operations / MONTHS)
  const ended = entities * MONTHS
  return {
    name: 'backup',
    about: `${ended.toLocaleString('en')} operations that ended in ${MONTHS} months (put there by SQL, without steps) and ${entities.toLocaleString('en')} open ones, one on each device: their bytes with all indexes, autovacuum left to itself; \`drover backup\` of all of it into a file while the service is there, and \`drover restore\` into an empty embedded PostgreSQL, from the start of the command to its end`,
    async open() {
      const service = await startService()
      try {
        const sizes = await fill(service, entities)
        return { run: () => measure(service, ended + entities, sizes), close: () => service.stop() }
      } catch (error) {
        await service.stop()
        throw error
      }
    },
  }
}

/** Makes everything; answers what each kind takes, in bytes. */
function fill(service: BenchService, entities: number): Promise<Figures> {
  return onDatabaseOf(service, async database => {
    const bytesOf = async (...tables: string[]) => {
      const { rows } = await database.query<{ bytes: number }>(
        'select sum(pg_total_relation_size(name::regclass))::float8 as bytes from unnest($1::text[]) as t(name)',
        [tables],
      )
      return rows[0]!.bytes / entities
    }
    await makeEnded(database, entities)
    // The present month has its indexes from the beginning, as it has where operations end one after the other.
    const endedBytes = await bytesOf(`operation_ended_${monthOf(new Date()).name}`)
    const deviceBytes = await bytesOf('entity')
    const job = await createJob(service, { tags: ['ended'] }, { start: { delayed: 3_600_000 } })
    const giveUpAt = performance.now() + WITHIN_MS
    while ((await summaryOf(service, job)).total < entities) {
      if (performance.now() > giveUpAt) throw new Error('the job is not planned in time')
      await sleep(200)
    }
    const toLaunchBytes = await bytesOf('operation', 'operation_ready')
    await letAllWait(database)
    return {
      'an operation to be launched, bytes': toLaunchBytes,
      'an operation that was launched, bytes': await bytesOf('operation', 'operation_live'),
      'an ended operation without steps, bytes': endedBytes,
      'a device without values, bytes': deviceBytes,
    }
  })
}

async function measure({ postgres }: BenchService, operations: number, sizes: Figures): Promise<Figures> {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-bench-'))
  const empty = await startPostgres()
  try {
    const file = path.join(folder, 'drover.backup')
    const backupS = await drover('backup', file, postgres.url)
    const { size } = await stat(file)
    const restoreS = await drover('restore', file, empty.url)
    return {
      ...sizes,
      'backup, s': backupS,
      'backup, operations/s': operations / backupS,
      'the file, MB': size / 1_000_000,
      'restore, s': restoreS,
      'restore, operations/s': operations / restoreS,
    }
  } finally {
    await empty.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs a command of an operator; answers the seconds that took. */
async function drover(word: 'backup' | 'restore', file: string, url: string): Promise<number> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [source('cli/drover.ts'), word, file], {
    env: { ...process.env, DATABASE_URL: url },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const [code, words] = await Promise.all([ended, text(child.stderr)])
  if (code !== 0) throw new Error(`drover ${word} ended with ${code}: ${words}`)
  return (performance.now() - startedAt) / 1000
}
