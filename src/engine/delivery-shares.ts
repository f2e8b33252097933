/**
 * How many deliveries each receiver may have under way at once: one until it has answered quickly, then its full number, and one again
 * when it lets an attempt hang. Those that hang do not count against the others. It knows receivers by name only, and sends nothing.
 */

/** What may be claimed now. */
export interface Claimable {
  readonly free: number
  /** most under way for one receiver, over all processes */
  readonly perReceiver: number
  /** receivers that get nothing now */
  readonly ignored: readonly string[]
}

export interface DeliveryShares {
  /** The first attempt of receivers that have none under way. */
  first(now: number): Claimable
  /** Further ones, of receivers that answer quickly. */
  more(now: number): Claimable
  /** An attempt begins; answers what to call when it has ended. */
  begin(receiver: string, now: number): (now: number) => void
}

/** An attempt that takes longer hangs. */
const HANGS_AFTER_MS = 2_000
/** Attempts that hang, as a multiple of those that do not: a day of outages must not open connections without end. */
const HANGING_TIMES = 5
/** Receivers remembered; beyond them the one that was attempted longest ago is met as if for the first time. */
const REMEMBERED_MAX = 10_000

interface Receiver {
  /** when each attempt under way began */
  readonly begunAt: Set<{ readonly at: number }>
  answers: 'unknown' | 'quickly' | 'hangs'
}

/** Makes the shares of one process: so many attempts that do not hang, of which at most half go beyond the first of their receiver. */
export function deliveryShares(concurrency: number, perReceiver: number): DeliveryShares {
  const receivers = new Map<string, Receiver>()

  const hangs = ({ begunAt, answers }: Receiver, now: number) =>
    answers === 'hangs' || [...begunAt].some(({ at }) => now - at > HANGS_AFTER_MS)

  function count(now: number) {
    const counted = { hanging: 0, fresh: 0, further: 0 }
    for (const receiver of receivers.values()) {
      const open = receiver.begunAt.size
      if (open === 0) continue
      if (hangs(receiver, now)) counted.hanging += open
      else {
        counted.fresh += open
        counted.further += open - 1
      }
    }
    return counted
  }

  const namesOf = (chosen: (receiver: Receiver) => boolean) =>
    [...receivers].filter(([, receiver]) => chosen(receiver)).map(([name]) => name)

  return {
    first(now) {
      const { hanging, fresh } = count(now)
      const full = hanging >= concurrency * HANGING_TIMES
      const ignored = full ? namesOf(receiver => hangs(receiver, now)) : []
      return { free: concurrency - fresh, perReceiver: 1, ignored }
    },
    more(now) {
      const { fresh, further } = count(now)
      const quick = (receiver: Receiver) => receiver.answers === 'quickly' && !hangs(receiver, now)
      const any = [...receivers.values()].some(receiver => quick(receiver) && receiver.begunAt.size > 0)
      const free = any ? Math.min(concurrency - fresh, Math.floor(concurrency / 2) - further) : 0
      return { free, perReceiver, ignored: free > 0 ? namesOf(receiver => !quick(receiver)) : [] }
    },
    begin(name, now) {
      const known = receivers.get(name) ?? { begunAt: new Set(), answers: 'unknown' }
      // The one attempted longest ago stands first.
      receivers.delete(name)
      receivers.set(name, known)
      for (const [oldest, { begunAt }] of receivers) {
        if (receivers.size <= REMEMBERED_MAX) break
        if (begunAt.size === 0) receivers.delete(oldest)
      }
      const attempt = { at: now }
      known.begunAt.add(attempt)
      return endedAt => {
        known.begunAt.delete(attempt)
        known.answers = endedAt - now > HANGS_AFTER_MS ? 'hangs' : 'quickly'
      }
    },
  }
}
