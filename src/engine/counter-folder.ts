/**
 * Folds counter deltas into the jobs' counters, ends the jobs that have nothing open left, and writes the changes that live
 * events are made of. Any node may fold; what one is folding the others pass over.
 */
import { endedOf, summaryOf } from '../domain/counters.ts'
import { addCounterDeltas, takeCounterDeltas } from '../store/counters.ts'
import type { Database } from '../store/database.ts'
import { announceJobChanges, insertJobChanges } from '../store/job-changes.ts'
import type { JobSettling } from './job-settling.ts'

const DELTAS_PER_TURN = 5_000

/** One turn: folds what is there; answers `now` while there may be more. `onEnd` is called after a fold that has ended jobs. */
export function createCounterFolding(
  database: Database,
  settling: JobSettling,
  onEnd: () => void,
): (now: Date) => Promise<Date | null> {
  return async now => {
    let ended = 0
    const folded = await database.transaction(
      async tx => {
        const sums = await takeCounterDeltas(tx, DELTAS_PER_TURN)
        if (sums.length === 0) return []
        const counters = await addCounterDeltas(tx, sums)
        const settled = await settling.settle(
          tx,
          counters.map(row => row.job),
          now,
        )
        ended = settled.length
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
        return counters
      },
      { byKey: true },
    )
    if (ended > 0) onEnd()
    return folded.length > 0 ? now : null
  }
}
