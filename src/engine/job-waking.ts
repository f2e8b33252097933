/**
 * What follows when the gate of a job opens: operations that wait for a device which is there by now are sent to it. A device that
 * comes while the gate is open is `presence`'s business.
 */
import { openCounter } from '../domain/counters.ts'
import { FIRST_PLACE } from '../domain/launching.ts'
import { decide } from '../domain/operation.ts'
import { isOpen, openingAfter } from '../domain/window.ts'
import { CounterDeltas, writeDeltas } from '../store/counters.ts'
import type { Transaction } from '../store/database.ts'
import type { StoredJob } from '../store/jobs.ts'
import { wakeOperationsOfJob } from '../store/operation-waking.ts'
import { storedWindow } from './job-launching.ts'

/** When the gate of a job that is in progress opens next after an instant; null where it stays as it is. */
export function nextWakeAt(job: Pick<StoredJob, 'request'>, now: Date): Date | null {
  const at = openingAfter(storedWindow(job.request.schedule.window), now.getTime())
  return at === null ? null : new Date(at)
}

/** Looks after a locked job whose `wakeAt` has come: where its gate is open, what can be sent becomes ready. The job is not written. */
export async function wakeJob(tx: Transaction, job: StoredJob, now: Date): Promise<void> {
  job.wakeAt = nextWakeAt(job, now)
  if (!isOpen(storedWindow(job.request.schedule.window), now.getTime())) return
  const from = 'WAITING_FOR_CONNECTION'
  const to = decide(from, 'connected').status
  const woken = await wakeOperationsOfJob(tx, job.job, { from, to, place: FIRST_PLACE })
  const deltas = new CounterDeltas()
  deltas.move(job.job, openCounter(from), openCounter(to), woken)
  await writeDeltas(tx, deltas)
}
