/**
 * How long `npm start` takes to its word that it is ready, its embedded database included: in an empty folder, and with a million
 * operations under way after a clean stop and after a kill -9 of all of its processes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { followChild } from '../src/cli/processes/child.ts'
import { firstNumberAt } from '../src/domain/identity.ts'
import { startEmbeddedPostgres } from '../src/store/embedded-postgres.ts'
import type { Measurement } from './figures.ts'
import { provisionMany } from './million-entities.ts'

const WITHIN_MS = 120_000
const STOP_MS = 30_000

export function start(operations = 1_000_000): Measurement {
  return {
    name: 'start',
    about: `from \`npm start\` to its word that it is ready, npm and the embedded database included; all but the second with what an earlier start has compiled (\`node_modules/.cache/drover\`), as every start after the first; the later ones with ${operations.toLocaleString('en')} operations waiting for a connection (put there by SQL); it is killed as soon as it is ready, so that little of the database's log is to be gone through again`,
    targets: { 'empty, s': { most: 3 }, 'a million, after a clean stop, s': { most: 5 } },
    async open() {
      // What it compiles is there from now on.
      await inFolder(async folder => (await ready(folder)).stop())
      return { run: () => measure(operations), close: async () => {} }
    },
  }
}

async function measure(operations: number) {
  const uncompiled = await inFolder(async folder => {
    const service = await ready(folder, { NODE_DISABLE_COMPILE_CACHE: '1' })
    await service.stop()
    return service.s
  })
  return await inFolder(async folder => {
    const empty = await ready(folder)
    await empty.stop()
    await fill(dataDir(folder), operations)
    const again = await ready(folder)
    await again.kill()
    const killed = await ready(folder)
    await killed.stop()
    return {
      'empty, s': empty.s,
      'empty, nothing compiled before, s': uncompiled,
      'a million, after a clean stop, s': again.s,
      'a million, after kill -9, s': killed.s,
    }
  })
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-bench-'))
  // Started by root, the database runs as somebody else, who must be able to enter.
  await chmod(folder, 0o711)
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const dataDir = (folder: string) => path.join(folder, 'data')

interface Started {
  readonly s: number
  /** Stops the service in order; npm ends with it. */
  stop(): Promise<void>
  /** As when the power goes: npm, the service and the database at once. */
  kill(): Promise<void>
}

async function ready(folder: string, env: NodeJS.ProcessEnv = {}): Promise<Started> {
  const startedAt = performance.now()
  const npm = spawn('npm', ['start'], {
    cwd: path.join(import.meta.dirname, '..'),
    // A process group of its own, with which the service can be killed.
    detached: true,
    env: {
      ...process.env,
      ...env,
      DROVER_DATA_DIR: dataDir(folder),
      DROVER_HOST: '127.0.0.1',
      DROVER_PORT: '0',
      DROVER_MQTT_PORT: '0',
      DROVER_LOG_LEVEL: 'info',
    },
  })
  const closed = once(npm, 'close')
  const kill = async () => {
    const database = await postmasterPid(folder)
    process.kill(-npm.pid!, 'SIGKILL')
    if (database !== undefined) process.kill(database, 'SIGKILL')
    await closed
  }
  try {
    const { pid } = await followChild(npm, 'npm start').line(line => line.msg === 'ready', WITHIN_MS)
    return {
      s: (performance.now() - startedAt) / 1000,
      async stop() {
        // To the service alone: npm would pass its own on, and a second one stops at once.
        process.kill(Number(pid), 'SIGTERM')
        const timer = setTimeout(() => process.kill(-npm.pid!, 'SIGKILL'), STOP_MS)
        const [code] = await closed
        clearTimeout(timer)
        if (code !== 0) throw new Error(`npm start ended with ${code}`)
      },
      kill,
    }
  } catch (error) {
    await kill()
    throw error
  }
}

async function postmasterPid(folder: string): Promise<number | undefined> {
  const file = path.join(dataDir(folder), 'postgres', 'data', 'postmaster.pid')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Number(text.split('\n')[0])
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
