/**
 * How much may be claimed of each job just now: what found no room to be sent is not claimed again before there is room, and then
 * little at first. It remembers jobs for as long as something of them is held back, and refuses to claim.
 */
import type { HasRoom, RoutedAddress } from './request-sender.ts'

export interface ClaimLimits {
  /** Most that may be claimed of a job now; `hasRoom` is asked for what was held back of it. */
  most(job: bigint, hasRoom: HasRoom, now: number): number
  /** Notes what came of a claim: how many of each job were claimed, and for which there was no room. */
  note(claimed: ReadonlyMap<bigint, number>, held: readonly RoutedAddress[], now: number): void
  /** whether something of a job was held back, and may be ready before the places that were claimed last */
  has(job: bigint): boolean
  /** the end of a job was reached, and what was held back of it comes again */
  beginAgain(job: bigint): void
  /** nothing is left of a job */
  forget(job: bigint): void
  /** whether there is anything to look for room for */
  holdsAny(): boolean
}

/** Where some found no room, so much more than were sent is claimed next: what finds none again is claimed and put back in vain. */
const MORE_THAN_SENT = 1.25
/** However little room there was, so much is tried: the next ones of the job may go another way. */
const LEAST = 16
/**
 * Where there is no room for what was held back, others of the job are tried this much later: twice as many each time, up to so many,
 * until there is room for one of them or all were tried. A few at a time would take minutes to come to those that there is room for.
 */
const TRY_AGAIN_MS = 1_000
const TRIED_MAX = 512
/** A job that is not claimed from any more has ended, or was paused. */
const FORGOTTEN_AFTER_MS = 60_000

interface Limit {
  readonly most: number
  /** the last claim sent nothing: nothing is claimed before there is room for this one, or until then */
  readonly waitsFor: RoutedAddress | undefined
  readonly notedAt: number
}

/** Makes the limits of one node, none at first. */
export function claimLimits(): ClaimLimits {
  const limits = new Map<bigint, Limit>()

  return {
    most(job, hasRoom, now) {
      const limit = limits.get(job)
      if (limit === undefined) return Number.POSITIVE_INFINITY
      const waits = limit.waitsFor !== undefined && now < limit.notedAt + TRY_AGAIN_MS && !hasRoom(limit.waitsFor)
      return waits ? 0 : limit.most
    },
    note(claimed, held, now) {
      const heldOf = Map.groupBy(held, ({ key }) => key.job)
      for (const [job, count] of claimed) {
        const of = heldOf.get(job) ?? []
        const before = limits.get(job)
        if (of.length === 0 && before === undefined) continue
        const sent = count - of.length
        const tried = Math.min(TRIED_MAX, 2 * (before?.most ?? LEAST / 2))
        const most =
          of.length === 0 ? before!.most * 2 : sent === 0 ? tried : Math.max(LEAST, Math.ceil(MORE_THAN_SENT * sent))
        limits.delete(job)
        limits.set(job, { most, waitsFor: sent === 0 ? of[0] : undefined, notedAt: now })
      }
      // The one noted longest ago stands first.
      for (const [job, { notedAt }] of limits) {
        if (now - notedAt < FORGOTTEN_AFTER_MS) break
        limits.delete(job)
      }
    },
    beginAgain(job) {
      const limit = limits.get(job)
      if (limit) limits.set(job, { ...limit, most: LEAST })
    },
    has: job => limits.has(job),
    forget: job => limits.delete(job),
    holdsAny: () => [...limits.values()].some(({ waitsFor }) => waitsFor !== undefined),
  }
}
