/**
 * The calls of devices that wait for a request: how many may be open, and how all of them end at once. Refuses to know devices.
 */
import { DroverError } from '../domain/errors.ts'
import { invalidField } from '../domain/refusal.ts'

/** Longest that a call is held open; a device that asks for more is answered after this. */
export const WAIT_MAX_S = 60

/** Span over which devices that were turned away come again, ms. */
const RETRY_SPREAD_MS = 20_000
const RETRY_FIRST_MS = 5000

export interface HeldPolls {
  /** a new call, to be finished by the caller; undefined when there are too many */
  begin(): AbortController | undefined
  finish(poll: AbortController): void
  /** what a device is told that has to come again: later, and not all at the same time */
  refusal(): DroverError
  /** ends every call, and takes no more */
  end(): void
}

/** Makes the book of open calls. */
export function heldPolls(max: number, random: () => number = Math.random): HeldPolls {
  const open = new Set<AbortController>()
  let ended = false
  return {
    begin() {
      if (open.size >= max) return undefined
      const poll = new AbortController()
      if (ended) poll.abort()
      open.add(poll)
      return poll
    },
    finish: poll => open.delete(poll),
    refusal: () => new DroverError('tooMany', [], undefined, RETRY_FIRST_MS + random() * RETRY_SPREAD_MS),
    end() {
      ended = true
      for (const poll of open) poll.abort()
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
