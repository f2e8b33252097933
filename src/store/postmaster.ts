/**
 * One running PostgreSQL server: launched by us, or found running after the process that launched it was killed. It watches that
 * one life; starting it again is its owner's business.
 */
import { spawn } from 'node:child_process'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import { asAccount, runToEnd } from './postgres-binaries.ts'
import { type Cluster, databaseName } from './postgres-cluster.ts'

export interface Postmaster {
  readonly pid: number
  readonly port: number
  /** Resolves when the server is gone, whatever the reason. */
  readonly ended: Promise<void>
}

/** Recovery after a crash reads the log since the last checkpoint, which takes seconds; this is far beyond. */
const readyWithinMs = 120_000
const adoptWithinMs = 30_000
const fastStopWithinMs = 20_000
const hardStopWithinMs = 5_000
const glanceMs = 50
const longestLogBytes = 10_000_000

export function urlOf(cluster: Cluster, port: number, database: string): string {
  return `postgres://${databaseName}:${cluster.password}@127.0.0.1:${port}/${database}`
}

/** A port of the loopback that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

/** Whether our database, and no other, answers on the port. */
async function answers(cluster: Cluster, port: number): Promise<boolean> {
  const client = new pg.Client({ connectionString: urlOf(cluster, port, 'postgres'), connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ folder: string }>(`select current_setting('data_directory') as folder`)
    return rows[0]?.folder === cluster.folder
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The command line of a process, or an empty text: a process number may have gone to somebody else. */
async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  const answer = await runToEnd('ps', ['-o', 'args=', '-p', String(pid)], {}).catch(() => null)
  return answer?.output ?? ''
}

async function whenGone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(glanceMs * 4, undefined, { ref: false })
}

/** Where the server of these files answers at this moment; null where none does. It is not adopted: another process looks after it. */
export async function answeringPort(cluster: Cluster): Promise<number | null> {
  const lines = (await readFile(path.join(cluster.folder, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const port = Number(lines[3])
  return port > 0 && (await answers(cluster, port)) ? port : null
}

/** The server that an earlier process left running, or null. One that does not answer in time is stopped. */
export async function adoptPostmaster(cluster: Cluster, log: Logger): Promise<Postmaster | null> {
  const pidFile = path.join(cluster.folder, 'postmaster.pid')
  const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n')
  const [pid, port] = [Number(lines[0]), Number(lines[3])]
  if (!(pid > 0)) return null
  if (!isAlive(pid) || !(await commandOf(pid)).includes(cluster.folder)) {
    // PostgreSQL would take any living process of that number for its own server and refuse to start.
    await rm(pidFile, { force: true })
    return null
  }
  const found: Postmaster = { pid, port, ended: whenGone(pid) }
  for (const until = performance.now() + adoptWithinMs; performance.now() < until && isAlive(pid); ) {
    if (port > 0 && (await answers(cluster, port))) {
      log.warn({ databasePid: pid, port }, 'a database that an earlier process left running is adopted')
      return found
    }
    await sleep(glanceMs)
  }
  log.warn({ databasePid: pid, port }, 'a database that an earlier process left running does not answer and is stopped')
  await stopPostmaster(found)
  return null
}

/** Launches the server and waits until it answers. Fails with the server's own last words. */
export async function launchPostmaster(
  cluster: Cluster,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<Postmaster> {
  const size = await stat(cluster.logFile).then(
    ({ size }) => size,
    () => 0,
  )
  if (size > longestLogBytes) await rename(cluster.logFile, `${cluster.logFile}.old`)
  const file = await open(cluster.logFile, 'a')
  const all = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    jit: 'off',
    ...settings,
  }
  const args = ['-D', cluster.folder, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  try {
    const from = (await file.stat()).size
    const program = path.join(cluster.binaries.folder, 'bin', 'postgres')
    // In a process group of its own, so that Ctrl-C on a terminal stops us and we stop it, in this order.
    const child = spawn(program, args, {
      ...asAccount(cluster.account),
      stdio: ['ignore', file.fd, file.fd],
      detached: true,
    })
    const ended = new Promise<void>(resolve => {
      child.on('error', () => resolve())
      child.on('exit', () => resolve())
    })
    let gone = false
    void ended.then(() => {
      gone = true
    })
    const lastWords = async () => (await readFile(cluster.logFile)).subarray(from).toString().trim()
    for (const until = performance.now() + readyWithinMs; !gone && performance.now() < until; await sleep(glanceMs)) {
      if (await answers(cluster, port)) return { pid: child.pid ?? 0, port, ended }
    }
    if (!gone) await stopPostmaster({ pid: child.pid ?? 0, port, ended })
    throw new Error(`The embedded database does not start:\n${await lastWords()}`)
  } finally {
    await file.close()
  }
}

/** Stops the server: politely, then hard, then with a kill. What was committed survives each of them. */
export async function stopPostmaster({ pid, ended }: Postmaster): Promise<void> {
  const waits: [NodeJS.Signals, number][] = [
    ['SIGINT', fastStopWithinMs],
    ['SIGQUIT', hardStopWithinMs],
    ['SIGKILL', hardStopWithinMs],
  ]
  for (const [signal, waitMs] of waits) {
    if (!isAlive(pid)) break
    process.kill(pid, signal)
    const giveUp = new AbortController()
    const gone = await Promise.race([
      ended.then(() => true),
      sleep(waitMs, false, { signal: giveUp.signal }).catch(() => false),
    ])
    giveUp.abort()
    if (gone) return
  }
}
