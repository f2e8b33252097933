/** What follows from operations that were written, in the transaction that wrote them: counters, timers, and places among those ready. */
import { FIRST_PLACE } from '../domain/launching.ts'
import { pauseBeforeAttempt } from '../domain/operation-event.ts'
import { enqueueReady } from '../store/claims.ts'
import { writeDeltas } from '../store/counters.ts'
import type { AtOnce } from '../store/database.ts'
import { armTimers, type Timer } from '../store/operation-timers.ts'
import type { OperationRow } from '../store/operations.ts'
import type { Outcome } from './operation-batch.ts'

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
