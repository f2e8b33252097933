/**
 * All pull devices of a fleet: each asks the service for its next operation, lets the question be held, and asks again. Only so many
 * ask at the same time; with more devices than that the questions are shorter and the devices take turns.
 */
import type { Receive } from './device-run.ts'
import type { FleetDevice } from './devices.ts'
import type { Ledger } from './ledger.ts'
import type { FleetOptions } from './options.ts'
import type { Pauses } from './pauses.ts'
import { randomOf } from './random.ts'
import type { Service } from './service.ts'

/** The asking of a fleet's pull devices. */
export interface PullDevices {
  /** Begins to ask for the pull devices among these; settles once each has asked, or the fleet stops. */
  connect(devices: readonly FleetDevice[]): Promise<void>
}

/** The first questions are spread at this rate. */
const FIRST_PER_SECOND = 2000
/** An answer "nothing" sooner than this was not held; the device leaves the service alone for a while. */
const HELD_AT_LEAST_MS = 500
const IDLE_MS = 1000
const AWAY_MS = 1000
const AWAY_LONGEST_MS = 10_000

/** Prepares the devices; nothing is asked yet. */
export function createPullDevices(
  options: Pick<FleetOptions, 'pullWaitS' | 'pullConcurrency' | 'seed'>,
  fleet: { ledger: Ledger; receive: Receive; service: Service; pauses: Pauses },
): PullDevices {
  const { ledger, receive, service, pauses } = fleet
  const random = randomOf(options.seed, 'pull')

  /** Asks once; resolves with how long this device stays away, times its `failures` in a row where the service was. */
  async function ask(id: string, waitS: number, failures: number): Promise<{ awayMs: number; failed: boolean }> {
    const askedAt = performance.now()
    const pending = await service.ask(id, waitS)
    ledger.counters.pulls++
    switch (pending.what) {
      case 'request':
        void receive(id, 'pull', pending.request, message => service.post(id, message))
        return { awayMs: 0, failed: false }
      case 'nothing':
        ledger.counters.pullsEmpty++
        return { awayMs: performance.now() - askedAt < HELD_AT_LEAST_MS ? IDLE_MS : 0, failed: false }
      case 'unreadable':
        ledger.counters.unreadable++
        return { awayMs: IDLE_MS, failed: false }
      default:
        return { awayMs: pending.retryMs ?? Math.min(AWAY_MS * 2 ** failures, AWAY_LONGEST_MS), failed: true }
    }
  }

  return {
    async connect(devices) {
      const ids = devices.filter(({ flow }) => flow === 'pull').map(({ id }) => id)
      const turns = Math.ceil(ids.length / options.pullConcurrency)
      const waitS = Math.max(1, Math.floor(options.pullWaitS / Math.max(1, turns)))
      const takeTurn = createTurns(options.pullConcurrency)
      let allHaveAsked = false

      async function live(id: string, index: number, hasAsked: () => void): Promise<void> {
        let failures = 0
        let goesOn = await pauses.pause(((index + random()) / FIRST_PER_SECOND) * 1000)
        while (goesOn) {
          const free = await takeTurn()
          // Where devices take turns, questions are short until each has asked, so that all are soon heard of.
          const asking = ask(id, turns > 1 && !allHaveAsked ? 1 : waitS, failures)
          hasAsked()
          const { awayMs, failed } = await asking
          free()
          failures = failed ? Math.min(failures + 1, 10) : 0
          goesOn = awayMs === 0 ? !pauses.stopped : await pauses.pause(awayMs * (0.5 + random()))
        }
        hasAsked()
      }

      await Promise.all(ids.map((id, index) => new Promise<void>(resolve => void live(id, index, resolve))))
      allHaveAsked = true
    },
  }
}

/** Lets so many through at once, in the order in which they came; what it resolves with must be called at the end of a turn. */
function createTurns(most: number): () => Promise<() => void> {
  const waiting: (() => void)[] = []
  let taken = 0
  const free = (): void => {
    const next = waiting.shift()
    if (next === undefined) taken--
    else next()
  }
  return async () => {
    if (taken < most) taken++
    else await new Promise<void>(resolve => waiting.push(resolve))
    return free
  }
}
