/** A clock for tests: time stands still until it is told to go on, and jumps from one wake-up to the next. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../src/engine/clock.ts'

export interface VirtualClock extends Clock {
  /** The instant for which the earliest sleeper waits, or null when nobody sleeps. */
  nextWakeUp(): Date | null
  /** Resolves when at least so many sleep. */
  asleep(count: number): Promise<void>
  /**
   * Goes to the instant, stopping at every wake-up on the way in order. After each it lets the woken work until at least
   * `asleep` sleep again; with 0, the default, for one turn of the event loop. It does not go back.
   */
  advanceTo(at: Date, asleep?: number): Promise<void>
  /** The same by a span. */
  advanceBy(ms: number, asleep?: number): Promise<void>
}

interface Sleeper {
  readonly atMs: number
  readonly wake: () => void
}

export function createVirtualClock(startAt: Date): VirtualClock {
  let nowMs = startAt.getTime()
  let sleepers: Sleeper[] = []
  let watchers: { count: number; resolve: () => void }[] = []

  function tellWatchers(): void {
    const satisfied = watchers.filter(({ count }) => sleepers.length >= count)
    watchers = watchers.filter(({ count }) => sleepers.length < count)
    for (const { resolve } of satisfied) resolve()
  }

  function earliestMs(): number | null {
    return sleepers.length === 0 ? null : Math.min(...sleepers.map(({ atMs }) => atMs))
  }

  function wakeDue(): void {
    const due = sleepers.filter(({ atMs }) => atMs <= nowMs)
    sleepers = sleepers.filter(({ atMs }) => atMs > nowMs)
    for (const { wake } of due) wake()
  }

  const asleep = (count: number) =>
    new Promise<void>(resolve => {
      watchers.push({ count, resolve })
      tellWatchers()
    })

  async function settle(count: number): Promise<void> {
    await nextTurn()
    await asleep(count)
  }

  async function advanceTo(at: Date, count = 0): Promise<void> {
    const targetMs = at.getTime()
    await settle(count)
    for (let nextMs = earliestMs(); nextMs !== null && nextMs <= targetMs; nextMs = earliestMs()) {
      nowMs = Math.max(nowMs, nextMs)
      wakeDue()
      await settle(count)
    }
    nowMs = Math.max(nowMs, targetMs)
  }

  return {
    now: () => new Date(nowMs),
    sleepUntil: (at, signal) =>
      new Promise<void>(resolve => {
        if (at.getTime() <= nowMs || signal.aborted) return resolve()
        const wake = () => {
          signal.removeEventListener('abort', leave)
          resolve()
        }
        const sleeper: Sleeper = { atMs: at.getTime(), wake }
        const leave = () => {
          sleepers = sleepers.filter(other => other !== sleeper)
          wake()
        }
        signal.addEventListener('abort', leave)
        sleepers.push(sleeper)
        tellWatchers()
      }),
    nextWakeUp() {
      const ms = earliestMs()
      return ms === null ? null : new Date(ms)
    },
    asleep,
    advanceTo,
    advanceBy: (ms, count) => advanceTo(new Date(nowMs + ms), count),
  }
}
