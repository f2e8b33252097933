/**
 * The one way work repeats in the engine: start, stop, wake, and a `runOnce` that tests call. A loop holds no business of its own
 * and never ends by an error.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from 'pino'
import { pauseAfter } from '../domain/growing-pauses.ts'
import type { Clock } from './clock.ts'

export interface LoopOptions {
  /** As in the logs: object and duty, `deadline-keeper`. */
  name: string
  clock: Clock
  /**
   * Does what is due at `now` and answers the instant of the next work, or null when none is known. It should end early when the
   * signal aborts, leaving nothing half done.
   */
  runOnce: (now: Date, signal: AbortSignal) => Promise<Date | null>
  /** The longest sleep, 2 s unless told: the net under a lost wake-up. `Infinity` for none. */
  pollMs?: number
  /** The least span from the beginning of a run to that of the next, so that a loop which is woken all the time does much at once. */
  restMs?: number
  log: Logger
  /** told after every run */
  onRun?: (loop: string, failed: boolean) => void
}

export interface Loop {
  readonly name: string
  /** Begins to repeat. Does nothing on a running loop; after a stop it starts anew once the last run has ended. */
  start(): void
  /** Ends the repeating; resolves when the run in hand has ended. Does nothing on a stopped loop. */
  stop(): Promise<void>
  /**
   * Makes the next run come at once, or once the rest or the pause after a failure is over; a wake-up during a run brings another one after
   * it. Nothing is kept while stopped.
   */
  wake(): void
  /** Runs once now, after the run in hand; answers as the loop's own `runOnce` and fails as it does. */
  runOnce(now: Date): Promise<Date | null>
}

/** Made once: without a reason of its own, each wake-up would make an error with its stack. */
const WOKEN = new Error('woken')
const PAUSES = { firstPauseMs: 100, longestPauseMs: 10_000 }

/** Makes a loop, not yet started. A failed run is logged and tried again after 100 ms, then twice as long, up to 10 s, woken or not. */
export function createLoop({
  name,
  clock,
  runOnce,
  pollMs = 2_000,
  restMs = 0,
  log,
  onRun = () => {},
}: LoopOptions): Loop {
  let current: { stopping: AbortController; ended: Promise<void> } | null = null
  let sleeping: AbortController | null = null
  let woken = false
  let inHand: Promise<unknown> = Promise.resolve()

  /** Two runs never overlap, whoever asks for them. */
  function runInTurn(now: () => Date, signal: AbortSignal): Promise<Date | null> {
    const run = inHand.then(() => runOnce(now(), signal))
    inHand = run.then(
      () => onRun(name, false),
      () => onRun(name, true),
    )
    return run
  }

  async function sleepUntil(at: Date, stopping: AbortSignal): Promise<void> {
    if (woken || stopping.aborted) return
    sleeping = new AbortController()
    await clock.sleepUntil(at, sleeping.signal)
    sleeping = null
  }

  async function rest(startedAt: Date, stopping: AbortSignal): Promise<void> {
    const until = new Date(startedAt.getTime() + restMs)
    if (restMs > 0 && clock.now() < until && !stopping.aborted) await clock.sleepUntil(until, stopping)
  }

  /** When the next run is due; with neither a next work nor a poll, only a wake-up brings it. */
  function nextRunAt(nextWorkAt: Date | null): Date {
    const latestMs = clock.now().getTime() + pollMs
    return new Date(Math.min(nextWorkAt?.getTime() ?? Number.POSITIVE_INFINITY, latestMs, 8.64e15))
  }

  async function repeat(stopping: AbortSignal): Promise<void> {
    let failures = 0
    while (!stopping.aborted) {
      woken = false
      const startedAt = clock.now()
      try {
        const nextWorkAt = await runInTurn(() => clock.now(), stopping)
        failures = 0
        await sleepUntil(nextRunAt(nextWorkAt), stopping)
      } catch (error) {
        if (stopping.aborted) return
        log.error({ err: error, loop: name }, 'a run of a loop failed and is tried again')
        // Whoever wakes it meanwhile waits as well: under load a loop is woken all the time, and what fails would never rest.
        await clock.sleepUntil(new Date(clock.now().getTime() + pauseAfter(failures++, PAUSES)), stopping)
      }
      await rest(startedAt, stopping)
      // A loop that always has more to do must not keep timers and sockets from their turn.
      await nextTurn()
    }
  }

  return {
    name,
    start() {
      if (current && !current.stopping.signal.aborted) return
      const stopping = new AbortController()
      const before = current?.ended ?? Promise.resolve()
      current = { stopping, ended: before.then(() => repeat(stopping.signal)) }
    },
    async stop() {
      current?.stopping.abort()
      sleeping?.abort(WOKEN)
      await current?.ended
    },
    wake() {
      woken = true
      sleeping?.abort(WOKEN)
    },
    runOnce: now => runInTurn(() => now, new AbortController().signal),
  }
}
