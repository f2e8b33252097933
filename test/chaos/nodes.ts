/**
 * Nodes as a supervisor keeps them: processes on fixed ports that are started again when they end, killed, stopped in order and frozen
 * when told to. Whoever ends without having been told to is remembered.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface NodeOptions {
  readonly name: string
  readonly port: number
  readonly logFile: string
  readonly variables: Readonly<Record<string, string>>
  /** another build's folder; this one unless told */
  readonly root?: string
}

export interface ServiceNode {
  readonly name: string
  readonly url: string
  readonly logFile: string
  /** ends that nobody asked for, of a process that had been ready */
  readonly deaths: string[]
  /** exit codes of stops in order, of processes that had been ready */
  readonly stops: (number | null)[]
  pid(): number | undefined
  start(): void
  ready(withinMs: number): Promise<void>
  kill(): Promise<void>
  /** SIGTERM; SIGKILL after `graceMs`. */
  stop(graceMs: number): Promise<void>
  /** whether there is a process to send it to */
  signal(signal: NodeJS.Signals): boolean
}

const RESTART_MS = 400
const GLANCE_MS = 100
const thisBuild = path.resolve(import.meta.dirname, '../..')

export function createNode({ name, port, logFile, variables, root = thisBuild }: NodeOptions): ServiceNode {
  const url = `http://127.0.0.1:${port}`
  const deaths: string[] = []
  const stops: (number | null)[] = []
  let child: ChildProcess | undefined
  let wanted = false
  let wasReady = false

  function launch(): void {
    const inherited = Object.entries(process.env).filter(
      ([key]) => !key.startsWith('DROVER_') && key !== 'DATABASE_URL',
    )
    const started = spawn(process.execPath, ['src/main.ts'], {
      cwd: root,
      env: { ...Object.fromEntries(inherited), DROVER_PORT: String(port), ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = started
    wasReady = false
    const log = createWriteStream(logFile, { flags: 'a' })
    started.stdout.on('data', (chunk: Buffer) => {
      wasReady ||= chunk.includes('"msg":"ready"')
      log.write(chunk)
    })
    started.stderr.pipe(log, { end: false })
    started.once('close', (code, signal) => {
      log.end()
      if (child === started) child = undefined
      if (!wanted) return
      // One that cannot start while its database is away is started again, as every supervisor does.
      if (wasReady) deaths.push(`${name} ended by itself: ${signal ?? code}`)
      setTimeout(() => {
        if (wanted && child === undefined) launch()
      }, RESTART_MS)
    })
  }

  async function end(signal: NodeJS.Signals, graceMs: number): Promise<void> {
    wanted = false
    const ending = child
    if (ending === undefined) return
    const closed = once(ending, 'close')
    ending.kill(signal)
    // A frozen process hears nothing but this.
    ending.kill('SIGCONT')
    const timer = setTimeout(() => ending.kill('SIGKILL'), graceMs)
    const [code] = await closed
    clearTimeout(timer)
    if (signal === 'SIGTERM' && wasReady) stops.push(code)
  }

  return {
    name,
    url,
    logFile,
    deaths,
    stops,
    pid: () => child?.pid,
    start() {
      wanted = true
      if (child === undefined) launch()
    },
    async ready(withinMs) {
      for (const until = performance.now() + withinMs; performance.now() < until; await sleep(GLANCE_MS)) {
        const asked = child
        const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(5_000) }).catch(() => null)
        if (!answer?.ok || asked === undefined || child !== asked) continue
        // Its own word for it may still be on its way here.
        wasReady = true
        return
      }
      throw new Error(`${name} is not ready after ${withinMs} ms: see ${logFile}`)
    },
    kill: () => end('SIGKILL', 0),
    stop: graceMs => end('SIGTERM', graceMs),
    signal: signal => child?.kill(signal) ?? false,
  }
}
