/**
 * What ends with the things that operations need: entities and operation types. Each is drained before the transaction that removes the
 * thing, a chunk at a time, and closed in it. Tasks are locked first, then jobs, then the launch gate. Refuses to remove the thing.
 */
import { type OperationKey, operationId } from '../domain/identity.ts'
import { countOpenOfEntities, firstOpenOperations, lockOpenJobs } from '../store/closing.ts'
import type { Database, Transaction } from '../store/database.ts'
import type { EntityKey } from '../store/entities.ts'
import { lockJobs } from '../store/jobs.ts'
import { holdLaunchGate } from '../store/launch-gate.ts'
import { holdTypeNames } from '../store/operation-types.ts'
import { lockTasks, openJobsOf, tasksOfType } from '../store/tasks.ts'
import { oneByOne } from './one-by-one.ts'
import { cancelChunk, closeOperationsOfEntities } from './operation-canceller.ts'
import { type ClosedByType, LISTED_MAX } from './operation-types.ts'
import { cancelTask } from './tasks.ts'

const CHUNK = 5_000
const JOBS_PER_CHUNK = 100
const NEVER = new AbortController().signal

/** So many operations end with their entities in one transaction; more are drained before. */
const AT_ONCE_MAX = 500

/**
 * Ends what runs on entities that are about to go, where that is more than `left`: a chunk at a time, each in a transaction of its own, since
 * nothing is launched anywhere meanwhile. What comes after it is left to `closeEntities`, and what comes beside that to a second call.
 */
export async function drainEntities(
  database: Database,
  entities: readonly EntityKey[],
  now: Date,
  left = AT_ONCE_MAX,
): Promise<void> {
  if (entities.length === 0) return
  const busy = await database.transaction(tx => countOpenOfEntities(tx, entities), { byKey: true })
  if (busy.reduce((sum, { count }) => sum + count, 0) <= left) return
  for (let from = 0; from < busy.length; ) {
    const first = from
    for (let room = CHUNK; from < busy.length && (from === first || busy[from]!.count <= room); from += 1)
      room -= busy[from]!.count
    await database.transaction(tx => closeEntities(tx, busy.slice(first, from), now), { byKey: true })
  }
}

/** Ends what runs on entities as CANCELLED_INTERNAL. Serves: Operation `result` values. */
export async function closeEntities(tx: Transaction, entities: readonly EntityKey[], now: Date): Promise<void> {
  // Nobody has to wait for what has no operation. One that it is given just now is found after the commit.
  if ((await countOpenOfEntities(tx, entities)).length === 0) return
  await holdLaunchGate(tx)
  await closeOperationsOfEntities(tx, entities, now)
}

/**
 * Ends the open operations of a type a chunk at a time, then cancels its tasks one at a time, each in a transaction of its own: nothing is
 * launched anywhere meanwhile, so that a million of them must not be one, and a task that another holds must not be waited for by those
 * before it. Answers the first operations and the tasks by their public ids. What comes after it is left to `closeType`; where something
 * could not be had, all the rest was done before it throws, and a second call goes on from there.
 */
export async function drainType(
  database: Database,
  organization: number,
  name: string,
  now: Date,
): Promise<ClosedByType> {
  const operations = await drainJobs(database, organization, name, now)
  const tasks: string[] = []
  await oneByOne(await tasksOfType(database, organization, name), NEVER, async task => {
    const room = LISTED_MAX - operations.length
    const closed = await database.transaction(tx => closeTask(tx, task, name, room, now), { byKey: true })
    operations.push(...closed.operations)
    tasks.push(...closed.tasks)
  })
  return { operations, tasks }
}

async function drainJobs(database: Database, organization: number, name: string, now: Date): Promise<string[]> {
  const jobs = await database.transaction(tx => lockOpenJobs(tx, organization, name))
  const listed: string[] = []
  for (let from = 0; from < jobs.length; ) {
    const chunk = await database.transaction(
      tx => drainChunk(tx, jobs.slice(from, from + JOBS_PER_CHUNK), LISTED_MAX - listed.length, now),
      { byKey: true },
    )
    listed.push(...chunk.operations.map(operationId))
    from += chunk.emptied
  }
  return listed
}

/** Ends a chunk of operations of jobs; answers the first of them, and of how many jobs none is left. */
async function drainChunk(tx: Transaction, jobs: readonly bigint[], listedMax: number, now: Date) {
  await lockJobs(tx, jobs)
  await holdLaunchGate(tx)
  const operations: OperationKey[] = []
  let left = CHUNK
  for (const [emptied, job] of jobs.entries()) {
    const room = Math.min(left, listedMax - operations.length)
    if (room > 0) operations.push(...(await firstOpenOperations(tx, [job], room)))
    const { ended } = await cancelChunk(tx, job, 'deleted', now, { limit: left })
    left -= ended
    if (left === 0) return { operations, emptied }
  }
  return { operations, emptied: jobs.length }
}

/** Cancels one task, unless it has ended or runs another type by now, and ends what its jobs of the type have launched since the draining. */
async function closeTask(
  tx: Transaction,
  number: bigint,
  name: string,
  listedMax: number,
  now: Date,
): Promise<ClosedByType> {
  const [task] = await lockTasks(tx, [number])
  if (task?.request.name !== name || (task.state !== 'ACTIVE' && task.state !== 'INACTIVE')) return NOTHING
  const open = await lockJobs(tx, await openJobsOf(tx, [number]))
  await cancelTask(tx, task)
  // In the same transaction: whoever cancels what users have cancelled would end them as cancelled by a user.
  const jobs = open.filter(job => job.name === name).map(({ job }) => job)
  const operations = await endJobs(tx, jobs, listedMax, now)
  return { operations, tasks: [task.id] }
}

const NOTHING: ClosedByType = { operations: [], tasks: [] }

async function lockWork(tx: Transaction, organization: number, name: string) {
  const tasks = await lockTasks(tx, await tasksOfType(tx, organization, name))
  const jobs = await lockOpenJobs(tx, organization, name)
  // A task that ran another type has jobs of that, too: they are not waited for in the launch gate.
  const ofTasks = tasks.map(({ task }) => task)
  await lockJobs(tx, await openJobsOf(tx, ofTasks))
  return { tasks, jobs }
}

/** Ends what operations of a type are left and cancels the tasks made since the draining; answers both by their public ids. */
export async function closeType(tx: Transaction, organization: number, name: string, now: Date): Promise<ClosedByType> {
  await lockWork(tx, organization, name)
  await holdTypeNames(tx, organization)
  const { tasks, jobs } = await lockWork(tx, organization, name)
  for (const task of tasks) await cancelTask(tx, task)
  const operations = await endJobs(tx, jobs, LISTED_MAX, now)
  return { operations, tasks: tasks.map(task => task.id) }
}

/** Ends all operations of locked jobs; answers the first of them by their public ids. */
async function endJobs(tx: Transaction, jobs: readonly bigint[], listedMax: number, now: Date): Promise<string[]> {
  const operations = listedMax > 0 ? await firstOpenOperations(tx, jobs, listedMax) : []
  if (jobs.length > 0) await holdLaunchGate(tx)
  for (const job of jobs) await endAll(tx, job, now)
  return operations.map(operationId)
}

async function endAll(tx: Transaction, job: bigint, now: Date): Promise<void> {
  for (let from = 0; ; ) {
    const { ended, next } = await cancelChunk(tx, job, 'deleted', now, { from, limit: CHUNK })
    if (ended < CHUNK) return
    from = next
  }
}
