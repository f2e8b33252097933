/**
 * What ends with an organization: everything it runs, and everything it holds. It is drained first, a chunk at a time, then closed in
 * the transaction that removes it. Refuses to remove the organization, its users and its types.
 */
import type { OperationKey } from '../domain/identity.ts'
import { PARTITIONS } from '../domain/identity.ts'
import { clearReadyChunk } from '../store/claims.ts'
import {
  cancellingJobsOf,
  firstClosableJobs,
  firstOpenTasks,
  forgetEndedChunk,
  jobsAfter,
  lockOpenJobs,
  removeEntitiesOfPartition,
  removeHistory,
  removeHoldings,
} from '../store/closing.ts'
import type { Database, Transaction } from '../store/database.ts'
import { lockJobs } from '../store/jobs.ts'
import type { CancellingJob } from '../store/jobs-due.ts'
import { holdLaunchGate } from '../store/launch-gate.ts'
import { hasOpenOperations } from '../store/operation-cancels.ts'
import { countEntities } from '../store/targets.ts'
import { lockTasks } from '../store/tasks.ts'
import { beginCancel } from './job-transitions.ts'
import { cancelChunk, massEventOf } from './operation-canceller.ts'
import { cancelTask } from './tasks.ts'

const CHUNK = 5_000
/** Jobs that are closed in one transaction, in the launch gate. */
const CLOSED_AT_ONCE = 50
const JOBS_AT_ONCE = 1_000
/** Entities from which on they are removed a partition at a time. */
const LARGE_FROM = 5_000
const BY_KEY = { byKey: true }

/**
 * Cancels all tasks and jobs, of which nothing is launched any more from then on, then ends and removes what they hold and the entities,
 * each chunk in a transaction of its own. One that breaks off leaves an organization whose jobs are cancelled, to be removed again.
 */
export async function drainOrganization(database: Database, organization: number, now: Date): Promise<void> {
  await repeated(1, () => database.transaction(tx => cancelNextTask(tx, organization), BY_KEY))
  await repeated(CLOSED_AT_ONCE, () => database.transaction(tx => cancelSomeJobs(tx, organization), BY_KEY))
  for (const job of await cancellingJobsOf(database, organization)) await endOperations(database, job, now)
  await forgetEndedOperations(database, organization)
  if ((await countEntities(database, organization, LARGE_FROM)) < LARGE_FROM) return
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    await database.transaction(tx => removeEntitiesOfPartition(tx, organization, partition), BY_KEY)
  }
}

/** Does something until it had less to do than it does at once. */
async function repeated(most: number, work: () => Promise<number>): Promise<void> {
  while ((await work()) >= most);
}

/** One at a time: the jobs of a second one would be waited for in the launch gate, which those of the first have closed. */
async function cancelNextTask(tx: Transaction, organization: number): Promise<number> {
  const tasks = await lockTasks(tx, await firstOpenTasks(tx, organization, 1))
  for (const task of tasks) if (task.state === 'ACTIVE' || task.state === 'INACTIVE') await cancelTask(tx, task)
  return tasks.length
}

async function cancelSomeJobs(tx: Transaction, organization: number): Promise<number> {
  const jobs = await lockJobs(tx, await firstClosableJobs(tx, organization, CLOSED_AT_ONCE))
  for (const job of jobs) if (job.finishedAt === null) await beginCancel(tx, job, 'userCancel')
  return jobs.length
}

/** Ends all of a job that is being cancelled; its gate is closed, so that nobody waits for this. */
async function endOperations(database: Database, { job, status }: CancellingJob, now: Date): Promise<void> {
  // What moves under a chunk is passed over by it.
  while (await hasOpenOperations(database, job)) {
    for (let from = 0, ended = CHUNK; ended === CHUNK; ) {
      const chunk = await database.transaction(
        tx => cancelChunk(tx, job, massEventOf(status), now, { from, limit: CHUNK }),
        BY_KEY,
      )
      ended = chunk.ended
      from = chunk.next
    }
  }
  for (let from: number | null = 0; from !== null; ) {
    const place: number = from
    from = await database.transaction(tx => clearReadyChunk(tx, job, place, CHUNK), BY_KEY)
  }
}

async function forgetEndedOperations(database: Database, organization: number): Promise<void> {
  for (let after = 0n; ; ) {
    const jobs = await jobsAfter(database, organization, after, JOBS_AT_ONCE)
    for (let last: OperationKey | undefined = BEFORE_ALL; last; ) {
      const from: OperationKey = last
      last = await database.transaction(tx => forgetEndedChunk(tx, jobs, from, CHUNK), BY_KEY)
    }
    if (jobs.length < JOBS_AT_ONCE) return
    after = jobs.at(-1)!
  }
}

const BEFORE_ALL: OperationKey = { job: 0n, partition: -1, entity: 0n }

/** Ends what an organization still runs and removes what it still holds, but for its users and types. */
export async function closeOrganization(tx: Transaction, organization: number): Promise<void> {
  await lockOpenJobs(tx, organization, null)
  await removeHistory(tx, organization)
  // What was made since the last look, and is launched: of what is being cancelled nothing is.
  if ((await firstClosableJobs(tx, organization, 1)).length > 0) await holdLaunchGate(tx)
  await removeHoldings(tx, organization)
}
