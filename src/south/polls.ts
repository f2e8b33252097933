/**
 * The calls of devices that wait for a request: how many may be open, of all devices and of one, and how all of them end at once. Refuses
 * to know what is asked for.
 */
import { DroverError } from '../domain/errors.ts'
import { invalidField } from '../domain/refusal.ts'

/** Longest that a call is held open; a device that asks for more is answered after this. */
export const WAIT_MAX_S = 60

/** Calls of one device that are open at once: the one that it waits for, and some that broke off without a word. */
export const POLLS_PER_DEVICE = 4

/** Span over which devices that were turned away come again, ms. */
const RETRY_SPREAD_MS = 20_000
const RETRY_FIRST_MS = 5000

export interface HeldPolls {
  /**
   * A new call, to be finished by the caller; undefined when there are too many. Where only its device has too many, the one of them ends
   * that is open for longest: so no device takes the places of others.
   */
  begin(device: bigint): AbortController | undefined
  finish(device: bigint, poll: AbortController): void
  /** what a device is told that has to come again: later, and not all at the same time */
  refusal(): DroverError
  /** ends every call, and takes no more */
  end(): void
}

/** Makes the book of open calls. */
export function heldPolls(max: number, random: () => number = Math.random): HeldPolls {
  /** of each device, the one that is open for longest in front */
  const devices = new Map<bigint, Set<AbortController>>()
  let open = 0
  let ended = false

  function finish(device: bigint, poll: AbortController): void {
    const own = devices.get(device)
    if (!own?.delete(poll)) return
    open -= 1
    if (own.size === 0) devices.delete(device)
  }

  return {
    begin(device) {
      const [longest] = devices.get(device) ?? []
      if (longest !== undefined && devices.get(device)!.size >= POLLS_PER_DEVICE) {
        longest.abort()
        finish(device, longest)
      }
      if (open >= max) return undefined
      const poll = new AbortController()
      if (ended) poll.abort()
      devices.set(device, (devices.get(device) ?? new Set()).add(poll))
      open += 1
      return poll
    },
    finish,
    refusal: () => new DroverError('tooMany', [], undefined, RETRY_FIRST_MS + random() * RETRY_SPREAD_MS),
    end() {
      ended = true
      for (const polls of devices.values()) for (const poll of polls) poll.abort()
    },
  }
}

/** The `wait` of a call in milliseconds: whole seconds, none for a missing one. Fails with `invalidField`. */
export function readWait(wait: unknown): number {
  if (wait === undefined) return 0
  if (typeof wait !== 'string' || !/^\d{1,9}$/.test(wait)) {
    throw invalidField('wait', 'must be whole seconds, 0 to 60')
  }
  return Math.min(Number(wait), WAIT_MAX_S) * 1000
}
