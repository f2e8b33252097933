/**
 * How long the service takes from its start to its word that it is ready, its embedded database included: in an empty folder, and with a
 * million operations under way after a clean stop and after a kill -9 of all of its processes.
 */
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { type Child, startChild } from '../src/cli/processes/child.ts'
import { firstNumberAt } from '../src/domain/identity.ts'
import { startEmbeddedPostgres } from '../src/store/embedded-postgres.ts'
import type { Measurement } from './figures.ts'
import { provisionMany } from './million-entities.ts'
import { source } from './processes.ts'

const WITHIN_MS = 120_000

export function start(operations = 1_000_000): Measurement {
  return {
    name: 'start',
    about: `from the start of the process to its word that it is ready, its embedded database included; the later ones with ${operations.toLocaleString('en')} operations waiting for a connection (put there by SQL)`,
    targets: { 'empty, s': { most: 3 }, 'a million, after a clean stop, s': { most: 5 } },
    async run() {
      const folder = await mkdtemp(path.join(tmpdir(), 'drover-bench-'))
      // Started by root, the database runs as somebody else, who must be able to enter.
      await chmod(folder, 0o711)
      try {
        const empty = await ready(folder)
        await empty.child.end(30_000)
        await fill(dataDir(folder), operations)
        const again = await ready(folder)
        await killAll(again.child, folder)
        const killed = await ready(folder)
        await killed.child.end(30_000)
        return {
          'empty, s': empty.s,
          'a million, after a clean stop, s': again.s,
          'a million, after kill -9, s': killed.s,
        }
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

const dataDir = (folder: string) => path.join(folder, 'data')

async function ready(folder: string): Promise<{ s: number; child: Child }> {
  const startedAt = performance.now()
  const child = startChild(source('main.ts'), [], {
    DROVER_DATA_DIR: dataDir(folder),
    DROVER_HOST: '127.0.0.1',
    DROVER_PORT: '0',
    DROVER_MQTT_PORT: '0',
    DROVER_LOG_LEVEL: 'info',
  })
  await child.line(line => line.msg === 'ready', WITHIN_MS)
  return { s: (performance.now() - startedAt) / 1000, child }
}

/** A job under way on a million entities that have not asked for it yet. */
async function fill(folder: string, operations: number): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir: folder, log: pino({ level: 'silent' }) })
  const database = new pg.Client(server.url)
  await database.connect()
  try {
    await provisionMany(database, operations)
    const job = firstNumberAt(Date.now())
    await database.query(
      `insert into job (job, organization, name, user_email, request, status, created_at, activated_at, started_at, start_at,
                        launch_at, timeout_ms, places)
       select $1, o.organization, 'REBOOT_EQUIPMENT', 'bench@localhost',
              '{"name":"REBOOT_EQUIPMENT","parameters":{},"active":true,"schedule":{},"notify":false,"callback":"","operationParameters":{"ackTimeout":0,"timeout":60000,"retries":0,"retriesDelay":0,"retryResultList":[]},"target":{"append":{"tags":["million"]}}}',
              'IN_PROGRESS', now(), now(), now(), now(), now(), 60000, $2 from organization o`,
      [job, operations],
    )
    for (const text of [
      `insert into operation (job, partition, entity, status, attempt, started_at, launched_at, flow)
       select ${job}, partition, entity, 'WAITING_FOR_CONNECTION', 1, now(), now(), 'pull' from entity where tags = '{million}'`,
      `insert into operation_live (partition, entity, name, job) select partition, entity, 'REBOOT_EQUIPMENT', job from operation`,
      `insert into job_counter (job, waiting_for_connection) values (${job}, ${operations})`,
    ])
      await database.query(text)
  } finally {
    await database.end()
    await server.stop()
  }
}

/** As when the power goes: the service and the database at once. */
async function killAll(child: Child, folder: string): Promise<void> {
  const pid = await postmasterPid(dataDir(folder))
  child.process.kill('SIGKILL')
  process.kill(pid, 'SIGKILL')
  await once(child.process, 'close')
}

async function postmasterPid(folder: string): Promise<number> {
  const text = await readFile(path.join(folder, 'postgres', 'data', 'postmaster.pid'), 'utf8')
  return Number(text.split('\n')[0])
}
