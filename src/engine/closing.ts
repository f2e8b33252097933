/**
 * What ends with the things that operations need: entities, operation types and organizations. Each is called in the transaction
 * that removes the thing. Refuses to remove it.
 */
import { operationId } from '../domain/identity.ts'
import { firstOpenOperations, lockOpenJobs, removeHoldings } from '../store/closing.ts'
import type { Transaction } from '../store/database.ts'
import type { EntityKey } from '../store/entities.ts'
import { holdLaunchGate } from '../store/launch-gate.ts'
import { lockTasks, tasksOfType } from '../store/tasks.ts'
import { cancelChunk, closeOperationsOfEntities } from './operation-canceller.ts'
import type { ClosedByType } from './operation-types.ts'
import { cancelTask } from './tasks.ts'

/** Most operations that the answer to a deletion lists. */
const LISTED_MAX = 1_000
const CHUNK = 5_000

/** Ends what runs on entities as CANCELLED_INTERNAL. Serves: Operation `result` values. */
export async function closeEntities(tx: Transaction, entities: readonly EntityKey[], now: Date): Promise<void> {
  await holdLaunchGate(tx)
  await closeOperationsOfEntities(tx, entities, now)
}

/** Ends the open operations of a type and cancels its tasks; answers both by their public ids. */
export async function closeType(tx: Transaction, organization: number, name: string, now: Date): Promise<ClosedByType> {
  const tasks = await lockTasks(tx, await tasksOfType(tx, organization, name))
  for (const task of tasks) await cancelTask(tx, task)
  const jobs = await lockOpenJobs(tx, organization, name)
  const operations = await firstOpenOperations(tx, jobs, LISTED_MAX)
  await holdLaunchGate(tx)
  for (const job of jobs) await endAll(tx, job, now)
  return { operations: operations.map(operationId), tasks: tasks.map(task => task.id) }
}

async function endAll(tx: Transaction, job: bigint, now: Date): Promise<void> {
  for (let from = 0; ; ) {
    const { ended, next } = await cancelChunk(tx, job, 'deleted', now, { from, limit: CHUNK })
    if (ended < CHUNK) return
    from = next
  }
}

/** Ends everything that an organization runs and removes what it holds, but for its users and types. */
export async function closeOrganization(tx: Transaction, organization: number): Promise<void> {
  await holdLaunchGate(tx)
  await lockOpenJobs(tx, organization, null)
  await removeHoldings(tx, organization)
}
