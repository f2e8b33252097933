/** A service as an operator runs it: a process of its own on a folder of its own, which a test kills and starts again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll } from 'vitest'

/** How a process ended, and all that it wrote. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface ServiceProcess {
  readonly pid: number
  /** Resolves with where it listens once it says so; fails with its last words when it ends before. */
  ready(): Promise<{ url: string; mqttPort: number }>
  /** what it has written to its standard output so far */
  stdout(): string
  readonly ended: Promise<End>
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<End>
}

const root = path.resolve(import.meta.dirname, '../..')
const READY_MS = 120_000
const processes = new Set<ChildProcess>()

/** An empty data folder that goes after the last test of the file, with whatever still runs on it. */
export async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-service-'))
  // Started by root, the database runs as somebody else, who must be able to enter.
  await chmod(folder, 0o711)
  afterAll(async () => {
    for (const child of processes) child.kill('SIGKILL')
    const postgres = await postgresPid(folder)
    if (postgres !== null && isAlive(postgres)) process.kill(postgres, 'SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  return folder
}

/** The process number of the embedded database on a data folder; null where none has been started, or it was stopped in order. */
export async function postgresPid(folder: string): Promise<number | null> {
  const text = await readFile(path.join(folder, 'postgres', 'data', 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number(text.split('\n')[0])
  return pid > 0 ? pid : null
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Launches `npm start`'s process on free ports; no variable of the test run reaches it but those given. */
export function launchService(folder: string, variables: Record<string, string> = {}): ServiceProcess {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('DROVER_') && name !== 'DATABASE_URL',
  )
  const child = spawn(process.execPath, ['src/main.ts'], {
    cwd: root,
    env: {
      ...Object.fromEntries(inherited),
      DROVER_DATA_DIR: folder,
      DROVER_PORT: '0',
      DROVER_MQTT_PORT: '0',
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  processes.add(child)
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  const ended = new Promise<End>(resolve => {
    child.once('close', (code, signal) => {
      processes.delete(child)
      resolve({ code, signal, stdout, stderr })
    })
  })

  return {
    pid: child.pid!,
    ended,
    stdout: () => stdout,
    ready: () =>
      new Promise((resolve, reject) => {
        const fail = (why: string) => {
          clearTimeout(timer)
          reject(new Error(`the service ${why}:\n${stdout.slice(-5_000)}\n${stderr.slice(-5_000)}`))
        }
        const timer = setTimeout(() => fail(`is not ready after ${READY_MS} ms`), READY_MS)
        const look = () => {
          const line = stdout.split('\n').find(each => each.startsWith('{') && each.includes('"msg":"ready"'))
          if (line === undefined) return
          clearTimeout(timer)
          child.stdout.off('data', look)
          resolve(JSON.parse(line))
        }
        child.stdout.on('data', look)
        void ended.then(() => fail('ended before it was ready'))
        look()
      }),
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}
