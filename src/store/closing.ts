/** What has to go when an operation type or an organization goes. Refuses to end operations one by one: the canceller does. */
import type { OperationKey } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import type { EntityKey } from './entities.ts'
import type { CancellingJob } from './jobs-due.ts'
import { ENTITY_KEY, sameKey } from './same-key.ts'
import { statement } from './statement.ts'

const openJobs = statement<{ job: bigint }, [number, string | null]>(
  'closing_open_jobs',
  `select job from job
    where organization = $1 and ($2::text is null or name = $2)
      and status in ('IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE')
    order by job for no key update`,
)

/** Open jobs of an organization, of one operation type or of all, locked in order. */
export async function lockOpenJobs(db: Queryable, organization: number, name: string | null): Promise<bigint[]> {
  return (await db.run(openJobs, [organization, name])).map(row => row.job)
}

const someOperations = statement<OperationKey, [bigint[], number]>(
  'closing_some_operations',
  'select job, partition, entity from operation where job = any($1::bigint[]) order by job, partition, entity limit $2',
)

/** The first open operations of jobs. */
export function firstOpenOperations(db: Queryable, jobs: readonly bigint[], limit: number): Promise<OperationKey[]> {
  return jobs.length === 0 ? Promise.resolve([]) : db.run(someOperations, [[...jobs], limit])
}

const openOfEntities = statement<EntityKey & { count: number }, [number[], bigint[]]>(
  'closing_open_of_entities',
  `select o.partition, o.entity, count(*)::int as count
     from unnest($1::smallint[], $2::bigint[]) as i(partition, entity)
     join operation o on ${sameKey('o', 'i', ENTITY_KEY)}
    group by o.partition, o.entity order by o.partition, o.entity`,
)

/** Those of the entities on which operations are open, in order of their keys, and how many. */
export function countOpenOfEntities(
  db: Queryable,
  entities: readonly EntityKey[],
): Promise<(EntityKey & { count: number })[]> {
  return db.run(openOfEntities, [entities.map(({ partition }) => partition), entities.map(({ entity }) => entity)])
}

const openTasks = statement<{ task: bigint }, [number, number]>(
  'closing_open_tasks',
  `select task from task where organization = $1 and state in ('ACTIVE', 'INACTIVE') order by task limit $2`,
)

/** The first tasks of an organization that may still make jobs. */
export async function firstOpenTasks(db: Queryable, organization: number, limit: number): Promise<bigint[]> {
  return (await db.run(openTasks, [organization, limit])).map(row => row.task)
}

const closableJobs = statement<{ job: bigint }, [number, number]>(
  'closing_closable_jobs',
  `select job from job where organization = $1 and status in ('IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED') order by job limit $2`,
)

/** The first jobs of an organization that are open and not being cancelled: of no others anything is launched. */
export async function firstClosableJobs(db: Queryable, organization: number, limit: number): Promise<bigint[]> {
  return (await db.run(closableJobs, [organization, limit])).map(row => row.job)
}

const cancellingOf = statement<CancellingJob, [number]>(
  'closing_cancelling_jobs',
  `select job, status from job
    where organization = $1 and status in ('CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE') order by job`,
)

/** The jobs of an organization that are being cancelled. */
export function cancellingJobsOf(db: Queryable, organization: number): Promise<CancellingJob[]> {
  return db.run(cancellingOf, [organization])
}

const someJobs = statement<{ job: bigint }, [number, bigint, number]>(
  'closing_some_jobs',
  'select job from job where organization = $1 and job > $2 order by job limit $3',
)

/** The next jobs of an organization after a number, in order. */
export async function jobsAfter(db: Queryable, organization: number, after: bigint, limit: number): Promise<bigint[]> {
  return (await db.run(someJobs, [organization, after, limit])).map(row => row.job)
}

const forgetEnded = statement<OperationKey, [bigint[], bigint, number, bigint, number]>(
  'closing_forget_ended',
  `with chunk as (
     select job, partition, entity from operation_ended
      where job = any($1::bigint[]) and (job, partition, entity) > ($2, $3, $4) order by job, partition, entity limit $5
   ), gone as (
     delete from operation_ended o using chunk c where ${sameKey('o', 'c')}
   )
   select job, partition, entity from chunk order by job desc, partition desc, entity desc limit 1`,
)

/** Removes at most so many ended operations of jobs after a key; answers the last one that went, undefined where none did. */
export async function forgetEndedChunk(
  db: Queryable,
  jobs: readonly bigint[],
  { job, partition, entity }: OperationKey,
  limit: number,
): Promise<OperationKey | undefined> {
  return (await db.run(forgetEnded, [[...jobs], job, partition, entity, limit]))[0]
}

const removeOfPartition = [
  'presence p using entity e where e.organization = $1 and e.partition = $2 and p.partition = e.partition and p.entity = e.entity',
  'carried where organization = $1 and partition = $2',
  'former_entity where organization = $1 and partition = $2',
  'entity where organization = $1 and partition = $2',
].map((from, index) => statement<unknown, [number, number]>(`closing_partition_${index}`, `delete from ${from}`))

/** Removes the entities of an organization that lie in a partition, and where they are and were. */
export async function removeEntitiesOfPartition(db: Queryable, organization: number, partition: number): Promise<void> {
  for (const removal of removeOfPartition) await db.run(removal, [organization, partition])
}

const removalsOf = (step: string, tables: readonly string[]) =>
  tables.map((from, index) => statement<unknown, [number]>(`closing_${step}_${index}`, `delete from ${from}`))

const HISTORY = [
  'operation_ended where organization = $1',
  'job_change where organization = $1',
  'carried where organization = $1',
  'former_entity where organization = $1',
  'filed_message where organization = $1',
]
const historyRemovals = removalsOf('forget', HISTORY)

/** Removes what an organization has had, and what it was told: nothing is launched from it. */
export async function removeHistory(db: Queryable, organization: number): Promise<void> {
  for (const removal of historyRemovals) await db.run(removal, [organization])
}

const removals = removalsOf('remove', [
  'operation_live l using job j where j.organization = $1 and l.job = j.job',
  'operation_ready r using job j where j.organization = $1 and r.job = j.job',
  'operation_detail d using job j where j.organization = $1 and d.job = j.job',
  'operation o using job j where j.organization = $1 and o.job = j.job',
  'job_counter_delta d using job j where j.organization = $1 and d.job = j.job',
  'job_counter c using job j where j.organization = $1 and c.job = j.job',
  'presence p using entity e where e.organization = $1 and p.partition = e.partition and p.entity = e.entity',
  'entity where organization = $1',
  ...HISTORY,
  'task where organization = $1',
  'job where organization = $1',
])

/** Removes everything that an organization holds, but its users, its types and itself; most of its history is better gone before. */
export async function removeHoldings(db: Queryable, organization: number): Promise<void> {
  for (const removal of removals) await db.run(removal, [organization])
}
