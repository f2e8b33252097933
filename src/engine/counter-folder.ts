/**
 * Folds counter deltas into the jobs' counters, ends the jobs that have nothing open left, and writes the changes that live
 * events are made of. Any node may fold; what one is folding the others pass over. A fold ends a few jobs and leaves a note of the
 * others, which are ended after it, a few in each transaction, large ones by a loop of their own: to say how a million operations ended
 * takes a second, and no other job waits for it.
 */
import { endedOf, summaryOf } from '../domain/counters.ts'
import { addCounterDeltas, noteJobs, takeCounterDeltas } from '../store/counters.ts'
import type { Database, Transaction } from '../store/database.ts'
import { announceJobChanges, insertJobChanges } from '../store/job-changes.ts'
import { tryRanking } from '../store/targets.ts'
import { LARGE_FROM } from './job-ranking.ts'
import type { EndableJob, JobSettling } from './job-settling.ts'
import { oneByOne } from './one-by-one.ts'

const DELTAS_PER_TURN = 5_000
/** Jobs that end in one transaction; they may have no more operations together than one that is large. */
const ENDED_AT_ONCE = 100
/** Transactions in which a turn ends jobs. What is left then is folded anew with its notes: to do so after each cost five times the ends. */
const ENDS_PER_TURN = 10
/** After so long a job is looked at again whose places are just being written. */
const RANKED_MS = 1_000

export interface CounterFolderParts {
  readonly database: Database
  readonly settling: JobSettling
  /** jobs have ended */
  readonly onEnd: () => void
  /** something is there for `endLarge` */
  readonly onLarge: () => void
  readonly largeFrom?: number
  readonly endedAtOnce?: number
}

/** Two loops: each answers when it is due next. */
export interface CounterFolding {
  /** One turn: folds what is there, and ends what is over by it; answers `now` while there may be more. */
  readonly fold: (now: Date, signal?: AbortSignal) => Promise<Date | null>
  /** One turn: ends the large jobs that a fold has found, each in a transaction of its own. */
  readonly endLarge: (now: Date, signal: AbortSignal) => Promise<Date | null>
}

export function createCounterFolding({
  database,
  settling,
  onEnd,
  onLarge,
  largeFrom = LARGE_FROM,
  endedAtOnce = ENDED_AT_ONCE,
}: CounterFolderParts): CounterFolding {
  /** Found by `fold`. Whoever forgets them finds them again by their notes. */
  const large = new Set<bigint>()

  const isLarge = ({ total }: EndableJob) => total > largeFrom

  /** What one transaction ends: in their order as many as it may, and none that is large. */
  function shareOf(endable: readonly EndableJob[]): bigint[] {
    let left = largeFrom
    const share = endable.filter(({ total }) => {
      const fits = total <= left
      if (fits) left -= total
      return fits
    })
    return share.slice(0, endedAtOnce).map(({ job }) => job)
  }

  /** Ends a share of jobs; answers how many it has ended, and the jobs beside it. */
  async function endShare(tx: Transaction, endable: readonly EndableJob[], now: Date) {
    const share = new Set(shareOf(endable))
    const ended = await settling.end(tx, [...share], now)
    return { ended: ended.length, left: endable.filter(({ job }) => !share.has(job)) }
  }

  async function foldSome(tx: Transaction, now: Date) {
    const sums = await takeCounterDeltas(tx, DELTAS_PER_TURN, [...large])
    if (sums.length === 0) return null
    const counters = await addCounterDeltas(tx, sums)
    const endable = await settling.endable(
      tx,
      counters.map(row => row.job),
    )
    const done = await endShare(tx, endable, now)
    await noteJobs(
      tx,
      done.left.map(({ job }) => job),
    )
    const changes = new Map(sums.map(sum => [sum.job, sum]))
    const folds = counters.map(row => {
      const { successful, ...change } = changes.get(row.job)!
      return {
        job: row.job,
        revision: row.revision,
        summary: summaryOf(row),
        ended: endedOf({ ...change, successful }),
        successful,
      }
    })
    tx.behind(insertJobChanges(tx, folds, now))
    tx.behind(announceJobChanges(tx))
    return done
  }

  return {
    async fold(now, signal) {
      const folded = await database.transaction(tx => foldSome(tx, now), { byKey: true })
      if (folded === null) return null
      if (folded.ended > 0) onEnd()
      const found = folded.left.filter(isLarge)
      for (const { job } of found) large.add(job)
      if (found.length > 0) onLarge()
      let small = folded.left.filter(each => !isLarge(each))
      for (let ends = 1; small.length > 0 && ends < ENDS_PER_TURN && !signal?.aborted; ends += 1) {
        const { left } = await database.transaction(tx => endShare(tx, small, now), { byKey: true })
        small = left
        onEnd()
      }
      return now
    },
    async endLarge(now, signal) {
      await oneByOne([...large], signal, async job => {
        const looked = await database.transaction(
          async tx => {
            // Its start writes places of it that it will find in vain: that may take minutes.
            if (!(await tryRanking(tx, job))) return false
            await settling.settle(tx, [job], now)
            return true
          },
          { byKey: true },
        )
        if (!looked) return
        large.delete(job)
        onEnd()
      })
      return large.size > 0 ? new Date(now.getTime() + RANKED_MS) : null
    },
  }
}
