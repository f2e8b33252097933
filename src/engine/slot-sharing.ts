/**
 * Shares the slots of a turn out to jobs whose stock nobody has counted: each is asked for its share, and what one does not have is shared
 * again among those that have more. Refuses to know what is taken of them, and how.
 */
import { type Contender, shareSlots } from '../domain/fairness.ts'

/** A job that wants slots, and the most that it may have. */
export interface Wish extends Contender {
  readonly most: number
}

/** `quota` for a wish, beside what it was `given` already. */
export type Share<W extends Wish> = W & { readonly given: number; readonly quota: number }

/** What is shared out, as it is looked at and taken. */
export interface Stock<W extends Wish> {
  /** Those of the jobs that have anything. */
  withAny(wishes: readonly W[]): Promise<ReadonlySet<bigint>>
  /** Takes of each job as many as its share; answers how many there were, of each that had any. */
  take(shares: readonly Share<W>[]): Promise<ReadonlyMap<bigint, number>>
}

/**
 * Most times that is shared. Each time either half of the slots go, or half of the jobs are found to have no more: some twenty are enough for
 * any stock, if no other node takes of it meanwhile. What is left then has the next turn.
 */
const ROUNDS_MAX = 20

/**
 * Takes for every job its part of the slots, until none is left or nobody has more. Answers how many it took of each job that it looked at: 0
 * where nothing was there.
 */
export async function shareOut<W extends Wish>(
  slots: number,
  wishes: readonly W[],
  turn: number,
  { withAny, take }: Stock<W>,
): Promise<Map<bigint, number>> {
  const taken = new Map<bigint, number>()
  const takenOf = ({ job }: Wish) => taken.get(job) ?? 0
  const sated = new Set<bigint>()
  let left = slots
  let looked = false
  for (let rounds = 0; left > 0 && sated.size < wishes.length && rounds < ROUNDS_MAX; rounds += 1) {
    // Who has no more still counts for what its organization was given.
    const takers = wishes.map(wish => ({
      ...wish,
      given: takenOf(wish),
      most: sated.has(wish.job) ? 0 : wish.most - takenOf(wish),
    }))
    const quotas = shareSlots(left, takers, turn)
    const hungry = wishes
      .map((wish, index) => ({ ...wish, given: takenOf(wish), quota: quotas[index]! }))
      .filter(({ job }) => !sated.has(job))
    const asked = hungry.filter(({ quota }) => quota > 0)
    if (!looked && hungry.some(({ given, quota }) => given + quota === 0)) {
      // With fewer slots than jobs, those that have nothing would be asked for it one after the other.
      looked = true
      const some = await withAny(hungry)
      for (const { job, given } of hungry) {
        if (some.has(job)) continue
        sated.add(job)
        taken.set(job, given)
      }
      continue
    }
    const found = await take(asked)
    for (const { job, given, quota, most } of asked) {
      const count = found.get(job) ?? 0
      taken.set(job, given + count)
      left -= count
      if (count < quota || given + count >= most) sated.add(job)
    }
  }
  return taken
}
