/** A child process that speaks JSON, one object a line: started, listened to and ended in order. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { serviceNode } from './entries.ts'

export interface Child {
  readonly process: ChildProcess
  /** The first line that the test accepts. Fails when the child ends, or after `withinMs`. */
  line(accept: (line: Record<string, unknown>) => boolean, withinMs: number): Promise<Record<string, unknown>>
  /** Asks it to end, and kills it after `graceMs`. */
  end(graceMs: number): Promise<void>
}

const KEPT_LINES = 50

/** Starts a script of this package on a Node that can run it. What it writes to standard error is shown when it fails. */
export function startChild(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  nodeFlags: readonly string[] = [],
): Child {
  const child = spawn(serviceNode(), [...nodeFlags, script, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  return followChild(child, script)
}

/** Listens to a process that was just started, under the name by which its failures are told. */
export function followChild(child: ChildProcessWithoutNullStreams, name: string): Child {
  const seen: Record<string, unknown>[] = []
  const tail: string[] = []
  const watchers = new Set<() => void>()
  let ended = false
  const remember = (text: string) => {
    tail.push(text)
    if (tail.length > KEPT_LINES) tail.shift()
  }
  createInterface({ input: child.stdout }).on('line', text => {
    remember(text)
    const line = parseLine(text)
    if (!line) return
    seen.push(line)
    if (seen.length > 1_000) seen.shift()
    for (const watcher of [...watchers]) watcher()
  })
  createInterface({ input: child.stderr }).on('line', remember)
  // A child that is gone cannot be written to; its end says enough.
  child.stdin.on('error', () => {})
  child.once('close', () => {
    ended = true
    for (const watcher of [...watchers]) watcher()
  })

  return {
    process: child,
    line: (accept, withinMs) =>
      new Promise((resolve, reject) => {
        const fail = (reason: string) => {
          done()
          reject(new Error(`${name} ${reason}:\n${tail.join('\n')}`))
        }
        const timer = setTimeout(() => fail(`said nothing of the kind within ${withinMs} ms`), withinMs)
        const done = () => {
          clearTimeout(timer)
          watchers.delete(look)
        }
        const look = () => {
          const found = seen.find(accept)
          if (found) {
            done()
            resolve(found)
          } else if (ended) fail('ended')
        }
        watchers.add(look)
        look()
      }),
    async end(graceMs) {
      if (ended) return
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
      await once(child, 'close')
      clearTimeout(timer)
    },
  }
}

function parseLine(text: string): Record<string, unknown> | undefined {
  try {
    const line: unknown = JSON.parse(text)
    return typeof line === 'object' && line !== null ? (line as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
