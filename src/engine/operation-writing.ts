/**
 * Writes operations as they were decided, and what follows from them in the same transaction: counters, timers, and places among those ready.
 * Refuses to decide.
 */
import { FIRST_PLACE } from '../domain/launching.ts'
import { pauseBeforeAttempt } from '../domain/operation-event.ts'
import { enqueueReady } from '../store/claims.ts'
import { writeDeltas } from '../store/counters.ts'
import type { AtOnce } from '../store/database.ts'
import { armTimers, type Timer } from '../store/operation-timers.ts'
import { endAllOperations, lockOperations, type OperationRow, updateAllOperations } from '../store/operations.ts'
import {
  type Committed,
  changeOf,
  draftedOf,
  endOf,
  type InBatch,
  type JobOfBatch,
  Outcome,
} from './operation-batch.ts'

/** Leaves it to the commit. */
export function carryOut(tx: AtOnce, { live, deltas }: Pick<Outcome, 'live' | 'deltas'>, now: Date): void {
  const timers: Timer[] = []
  const ready: OperationRow[] = []
  for (const { row, rules, consequences } of live) {
    if (consequences.deadline) timers.push({ key: row, dueAt: row.deadlineAt!, duty: 'deadline' })
    const pause = consequences.retry ? pauseBeforeAttempt(rules, row.startedAt !== null) : 0
    if (pause > 0) timers.push({ key: row, dueAt: new Date(now.getTime() + pause), duty: 'retry' })
    else if (consequences.retry || consequences.enqueue) ready.push(row)
  }
  const places = ready.map(({ job, partition, entity }) => ({ job, partition, entity, place: FIRST_PLACE }))
  tx.behind(armTimers(tx, timers))
  tx.behind(enqueueReady(tx, places))
  tx.behind(writeDeltas(tx, deltas))
}

/** Writes what was decided, and leaves to the commit whether everything was still as it was taken for: else the transaction is undone. */
export function writeAll(
  tx: AtOnce,
  operations: readonly InBatch[],
  jobs: ReadonlyMap<bigint, JobOfBatch>,
  now: Date,
): Pick<Committed, 'written' | 'ended'> {
  const { changed, kept, ends } = draftedOf(operations)
  // One statement planned by key meets its rows in order; two do not.
  if (kept.length > 0 && ends.length > 0)
    tx.behind(
      lockOperations(
        tx,
        changed.map(({ key }) => key),
      ),
    )
  tx.behind(updateAllOperations(tx, kept.map(changeOf)))
  const closing = ends.map(each => endOf(each, jobs.get(each.key.job)!, now))
  tx.behind(endAllOperations(tx, closing))
  const outcome = new Outcome()
  for (const each of kept) outcome.kept(each)
  for (const each of ends) outcome.over(each)
  carryOut(tx, outcome, now)
  return { written: outcome.written, ended: outcome.ended }
}
