/**
 * Whole operations per second inside the engine, with devices in the process: created, claimed, sent,
 * acknowledged, one part, final. Beside it the limit: the same row changes as bare set-based SQL over as many connections.
 */
import { pino } from 'pino'
import { type Database, openDatabase } from '../src/store/database.ts'
import { migrate } from '../src/store/migrate.ts'
import { assertExact, benchEngine, IN_HAND_MAX, provisionBench } from './bench-engine.ts'
import type { Measurement } from './figures.ts'
import { BATCH, CONNECTIONS, limitRun } from './limit.ts'
import { type BenchPostgres, startPostgres } from './postgres.ts'
import { databaseSeconds } from './processes.ts'

const log = pino({ level: 'silent' })
const ENGINE_CONNECTIONS = 20
/** Sent, acknowledged, a part, the end: each a row change of its own, as the creation and the launch before them are. */
const CHANGES_AFTER_LAUNCH = 4

const WARM_UP = 20_000
/** Told beside figures that are taken so. */
export const WARMED_UP = `before the first run each does ${WARM_UP.toLocaleString('en')} that are not counted, since a process that runs for weeks is compiled`

/** Does uncounted work once, before the first run. */
export function warmingUp(): (work: (count: number) => Promise<unknown>) => Promise<void> {
  let isWarm = false
  return async work => {
    if (!isWarm) await work(WARM_UP)
    isWarm = true
  }
}

/** Both in one run, one after the other, each on a server of its own, so that their ratio means something on any machine. */
export function lifecycle(operations = 50_000): Measurement {
  const warmUp = warmingUp()
  return {
    name: 'lifecycle',
    also: ['limit'],
    about: `${operations.toLocaleString('en')} operations of one job in the engine (at most ${ENGINE_CONNECTIONS} connections; devices in its process, with at most ${IN_HAND_MAX.toLocaleString('en')} operations in hand, whose messages have no wire and so no text to be kept), from the call that makes the job to its end, resolving and ranking included, and the same row changes as bare SQL in batches of ${BATCH} over ${CONNECTIONS} connections, on a database of its own each, on which nobody vacuums or analyzes by hand; a run counts only where every operation was successful, was written six times, and the counters equal a recount of the rows; ${WARMED_UP}`,
    targets: { 'engine / limit': { least: 0.4 } },
    async run() {
      await warmUp(async count => {
        await onDatabase(({ database, postgres }) => limitRun(database, postgres, count))
        await onDatabase(({ database, postgres }) => engineRun(database, postgres, count))
      })
      const limit = await onDatabase(({ database, postgres }) => limitRun(database, postgres, operations))
      const engine = await onDatabase(({ database, postgres }) => engineRun(database, postgres, operations))
      return {
        'engine, operations/s': engine.perSecond,
        'limit, operations/s': limit.perSecond,
        'engine / limit': engine.perSecond / limit.perSecond,
        'engine, CPU ms per operation': engine.cpuMs,
        'database, CPU ms per operation': engine.databaseMs,
        'limit, database CPU ms per operation': limit.databaseMs,
      }
    },
  }
}

/** Does some work on a database of its own, migrated and empty. */
export async function onDatabase<T>(
  work: (on: { readonly database: Database; readonly postgres: BenchPostgres }) => Promise<T>,
): Promise<T> {
  const postgres = await startPostgres()
  try {
    await migrate({ url: postgres.url, log })
    const database = openDatabase({ url: postgres.url, log, max: ENGINE_CONNECTIONS })
    try {
      return await work({ database, postgres })
    } finally {
      await database.close()
    }
  } finally {
    await postgres.stop()
  }
}

/** The job over so many operations in an engine of this process. */
export async function engineRun(
  database: Database,
  postgres: BenchPostgres,
  operations: number,
): Promise<{ perSecond: number; cpuMs: number; databaseMs: number }> {
  const organization = await provisionBench(database, operations)
  const { engine, createJob, ended, changes } = benchEngine(database, 1)
  await engine.start(true)
  const cpuBefore = process.cpuUsage()
  const databaseBefore = databaseSeconds(postgres.pid)
  const startedAt = performance.now()
  const job = await createJob(organization)
  await ended
  const ms = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpuBefore)
  const databaseMs = ((databaseSeconds(postgres.pid) - databaseBefore) * 1000) / operations
  await engine.stop()
  await assertExact(database, job, operations)
  if (changes() < operations * CHANGES_AFTER_LAUNCH)
    throw new Error(`only ${changes()} row changes followed the launches`)
  return { perSecond: (operations / ms) * 1000, cpuMs: (user + system) / 1000 / operations, databaseMs }
}
