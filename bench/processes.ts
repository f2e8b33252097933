/** A service as a process of its own, and a look at what it takes. Linux only: processor time and memory are the kernel's figures. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type Child, startChild } from '../src/cli/processes/child.ts'
import { type Client, createClient } from '../src/contract/client/client.ts'
import { type BenchPostgres, startPostgres } from './postgres.ts'

export interface BenchService {
  readonly postgres: BenchPostgres
  readonly child: Child
  readonly client: Client
  readonly apiKey: string
  readonly mqtt: string
  stop(): Promise<void>
}

export const source = (name: string) => path.join(import.meta.dirname, '..', 'src', name)

const START_MS = 60_000

/** Starts a service on a PostgreSQL of its own. */
export async function startService(): Promise<BenchService> {
  const postgres = await startPostgres()
  const apiKey = randomBytes(24).toString('base64url')
  const child = startChild(source('main.ts'), [], {
    DATABASE_URL: postgres.url,
    DROVER_HOST: '127.0.0.1',
    DROVER_PORT: '0',
    DROVER_MQTT_PORT: '0',
    DROVER_ADMIN_API_KEY: apiKey,
    DROVER_LOG_LEVEL: 'info',
  })
  const stop = async () => {
    await child.end(10_000)
    await postgres.stop()
  }
  try {
    const ready = await child.line(line => line.msg === 'ready', START_MS)
    const client = createClient({ url: String(ready.url), credentials: () => ({ 'x-apikey': apiKey }) })
    return { postgres, child, client, apiKey, mqtt: `mqtt://127.0.0.1:${ready.mqttPort}`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Seconds of processor time that a process has taken. Fails where there is no such process. */
export function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** The same of a child that may have ended since it was listed: it is then among those that its parent counts. */
function secondsOfChild(pid: number): number {
  try {
    return processorSeconds(pid)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ESRCH')
      return 0
    throw error
  }
}

/** The same of a database server: its processes now, and those that have ended. */
export function databaseSeconds(postmaster: number): number {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ')
  const before = secondsOfEnded(postmaster)
  const taken = children.filter(pid => pid !== '').map(pid => secondsOfChild(Number(pid)))
  // A child that ended meanwhile may have been counted on both sides, or on neither.
  if (secondsOfEnded(postmaster) !== before) return databaseSeconds(postmaster)
  return processorSeconds(postmaster) + before + taken.reduce((a, b) => a + b, 0)
}

function secondsOfEnded(parent: number): number {
  const fields = readFileSync(`/proc/${parent}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

const GLANCE_MS = 100

/** Looks at the resident memory of a process ten times a second until called, which answers the most that was seen, in MB. */
export function watchMemory(pid: number): () => number {
  let most = residentMb(pid)
  const look = () => {
    most = Math.max(most, residentMb(pid))
  }
  const watching = setInterval(look, GLANCE_MS)
  return () => {
    clearInterval(watching)
    look()
    return most
  }
}

/** Resident memory of a process, in MB. */
export function residentMb(pid: number): number {
  const [, kilobytes] = /VmRSS:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
