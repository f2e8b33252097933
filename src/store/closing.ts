/** What has to go when an operation type or an organization goes. Refuses to end operations one by one: the canceller does. */
import type { OperationKey } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
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
