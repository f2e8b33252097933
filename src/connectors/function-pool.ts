/**
 * The threads in which connector functions run. Organizations take turns, each with a short queue, so that one with slow functions does
 * not slow the others; a thread that does not come back is ended. It knows nothing of what the functions are for.
 */
import { Worker } from 'node:worker_threads'
import {
  FUNCTION_LIMITS,
  type FunctionCall,
  type FunctionFault,
  type FunctionLimits,
  type FunctionOutcome,
} from '../domain/connector-function.ts'

export interface FunctionPoolSettings {
  readonly threads?: number
  readonly limits?: FunctionLimits
  /** calls of one organization that may wait */
  readonly waitingMax?: number
  /** a thread that is not ready after this is ended */
  readonly startMs?: number
  /** a thread that is not done with a call after this is ended: a step inside the interpreter may outlast the time of a function */
  readonly hardMs?: number
}

export interface FunctionPool {
  /** Runs a call when its organization's turn comes; one that does not come within `beginMs` is `busy`. Never rejects. */
  run(organization: number, call: FunctionCall, beginMs?: number): Promise<FunctionOutcome>
  stop(): Promise<void>
}

interface Waiting {
  readonly call: FunctionCall
  /** on the monotonic clock, ms */
  readonly latestAt: number
  readonly settle: (outcome: FunctionOutcome) => void
}

interface Thread {
  readonly worker: Worker
  /** has been ready once */
  started: boolean
  ready: boolean
  current: Waiting | undefined
  timer: NodeJS.Timeout | undefined
}

/** Makes the pool; a thread starts with the first call. */
export function functionPool(settings: FunctionPoolSettings = {}): FunctionPool {
  const {
    threads: threadsMax = 2,
    limits = FUNCTION_LIMITS,
    waitingMax = 500,
    hardMs = 2_000,
    startMs = 20_000,
  } = settings
  const threads = new Set<Thread>()
  const queues = new Map<number, Waiting[]>()
  let stopping = false

  /** The next call, organizations in turn: the one that was served goes to the end. What comes to its turn too late is not run. */
  function next(): Waiting | undefined {
    for (const [organization, queue] of queues) {
      const now = performance.now()
      const inTime = queue.findIndex(({ latestAt }) => latestAt >= now)
      const late = queue.splice(0, inTime < 0 ? queue.length : inTime)
      for (const { settle } of late) settle(busy('its turn came too late'))
      const waiting = queue.shift()
      queues.delete(organization)
      if (queue.length > 0) queues.set(organization, queue)
      if (waiting !== undefined) return waiting
    }
    return undefined
  }

  function proceed(): void {
    for (const thread of threads) if (thread.ready && thread.current === undefined) give(thread)
    const starting = [...threads].filter(({ ready, current }) => !ready && current === undefined).length
    if (queues.size > starting && threads.size < threadsMax && !stopping) start()
  }

  function give(thread: Thread): void {
    const waiting = next()
    if (waiting === undefined) return
    thread.ready = false
    thread.current = waiting
    thread.timer = setTimeout(() => end(thread, 'time', 'it ran for too long'), hardMs)
    thread.worker.postMessage({ call: waiting.call, limits })
  }

  function start(): void {
    const worker = new Worker(new URL('./function-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 128 },
      // A function sees nothing of the process, and neither needs its thread.
      env: {},
      execArgv: [],
    })
    worker.unref()
    const thread: Thread = { worker, started: false, ready: false, current: undefined, timer: undefined }
    thread.timer = setTimeout(() => end(thread, 'busy', 'its thread did not start'), startMs)
    threads.add(thread)
    worker.on('message', ({ outcome, ready }: { outcome?: FunctionOutcome; ready?: boolean }) => {
      if (outcome !== undefined) settle(thread, outcome)
      if (!ready) return
      // Only now, since clearing up after a call is part of it.
      clearTimeout(thread.timer)
      thread.started = true
      thread.ready = true
      proceed()
    })
    worker.on('error', error => end(thread, 'memory', `its thread ended: ${error.message}`))
    worker.on('exit', () => end(thread, 'memory', 'its thread ended'))
  }

  function settle(thread: Thread, outcome: FunctionOutcome): void {
    thread.current?.settle(outcome)
    thread.current = undefined
  }

  /** A thread that is gone before it was ever ready could not be started: what waits is answered rather than tried for ever. */
  function end(thread: Thread, fault: FunctionFault, description: string): void {
    if (!threads.delete(thread)) return
    clearTimeout(thread.timer)
    settle(thread, { ok: false, fault, description, log: [] })
    thread.worker.terminate().catch(() => {})
    if (!thread.started) next()?.settle({ ok: false, fault, description, log: [] })
    proceed()
  }

  return {
    run(organization, call, beginMs = Number.POSITIVE_INFINITY) {
      const queue = queues.get(organization) ?? []
      if (stopping || queue.length >= waitingMax) {
        const description = stopping ? 'the service is stopping' : 'too many calls of its organization wait already'
        return Promise.resolve(busy(description))
      }
      return new Promise(settle => {
        queue.push({ call, settle, latestAt: performance.now() + beginMs })
        queues.set(organization, queue)
        proceed()
      })
    },
    async stop() {
      stopping = true
      for (const queue of queues.values()) {
        for (const { settle } of queue) settle(busy('the service is stopping'))
      }
      queues.clear()
      await Promise.all([...threads].map(thread => thread.worker.terminate()))
    },
  }
}

const busy = (description: string): FunctionOutcome => ({ ok: false, fault: 'busy', description, log: [] })
