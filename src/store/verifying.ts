/**
 * Looks at the rows of jobs for what must never be: operations counted, live, open or attempted otherwise than the lifecycles
 * allow. To be read in one snapshot; it mends nothing. The recount itself lies with the counters.
 */
import type { OperationKey } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

const batch = statement<{ job: bigint }, [number, bigint, number]>(
  'verifying_jobs',
  'select job from job where organization = $1 and job > $2 order by job limit $3',
)

/** The next jobs of an organization after a job number, in their order. */
export async function jobsToVerify(
  db: Queryable,
  organization: number,
  after: bigint,
  limit: number,
): Promise<bigint[]> {
  return (await db.run(batch, [organization, after, limit])).map(row => row.job)
}

/** What the rows of operations may be found guilty of. */
export const ROW_FAULTS = [
  'launchedWithoutLiveSlot',
  'liveSlotWithoutOperation',
  'openInFinalJob',
  'launchedBeforeStart',
  'attemptsExceeded',
  'openAndEnded',
  'neverDue',
  'queuedNowhere',
  'deadlineWithoutTimer',
] as const
export type RowFault = (typeof ROW_FAULTS)[number]

/** Some operations with one fault: how many of a job, and one of them. */
export interface FaultyRows extends OperationKey {
  fault: RowFault
  count: number
}

const launchedSql = `(o.status <> 'PENDING' or o.started_at is not null)`

const faults = statement<FaultyRows, [bigint[]]>(
  'verifying_faults',
  `with open as materialized (
     select o.job, o.partition, o.entity, o.status, o.attempt, o.started_at, o.deadline_at, j.name, j.retries, j.status as job_status, j.launch_at
       from operation o join job j on j.job = o.job where o.job = any($1::bigint[])
   ), timed as materialized (
     select t.duty, t.due_at, k.job, k.partition, k.entity from operation_timer t
      cross join lateral unnest(t.jobs, t.partitions, t.entities) as k(job, partition, entity)
      where k.job = any($1::bigint[])
   ), awaited as materialized (
     select o.job, o.partition, o.entity, o.status, o.job_status, t.due_at as retry_at, r.job is not null as ready, s.due_at as send_at
       from open o
       left join operation_ready r on r.job = o.job and r.partition = o.partition and r.entity = o.entity
       left join timed t on t.duty = 'retry' and t.job = o.job and t.partition = o.partition and t.entity = o.entity
       left join timed s on s.duty = 'send' and s.job = o.job and s.partition = o.partition and s.entity = o.entity
      where o.status in ('PENDING', 'QUEUED') and o.job_status in ('IN_PROGRESS', 'PAUSED')
   ), guilty as (
     select 'launchedWithoutLiveSlot' as fault, o.job, o.partition, o.entity from open o
      where ${launchedSql} and not exists (select from operation_live l
        where l.partition = o.partition and l.entity = o.entity and l.name = o.name and l.job = o.job)
     union all
     select 'openInFinalJob', o.job, o.partition, o.entity from open o
      where o.job_status in ('FINISHED', 'FINISHED_WITH_ERRORS', 'CANCELLED', 'TIMEOUT_CANCELLED')
     union all
     select 'launchedBeforeStart', o.job, o.partition, o.entity from open o where ${launchedSql} and o.launch_at is null
     union all
     select 'attemptsExceeded', o.job, o.partition, o.entity from open o where o.attempt > o.retries + 1
     union all
     select 'attemptsExceeded', x.job, x.partition, x.entity from operation_ended x join job j on j.job = x.job
      where x.job = any($1::bigint[]) and x.attempt > j.retries + 1
     union all
     select 'openAndEnded', o.job, o.partition, o.entity from open o join operation_ended x
       on x.job = o.job and x.partition = o.partition and x.entity = o.entity
     union all
     select distinct 'neverDue', a.job, a.partition, a.entity from awaited a
      where a.status = 'PENDING' and not a.ready and a.retry_at is null
     union all
     select distinct 'queuedNowhere', a.job, a.partition, a.entity from awaited a
      where a.status = 'QUEUED' and not a.ready and a.send_at is null
     union all
     select 'deadlineWithoutTimer', o.job, o.partition, o.entity from open o
      where (o.deadline_at is not null or o.status = 'IN_PROGRESS') and o.status <> 'PENDING'
        and o.job_status not in ('CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE')
        and not exists (select from timed t where t.duty = 'deadline' and t.job = o.job and t.partition = o.partition
                           and t.entity = o.entity and t.due_at >= o.deadline_at)
   )
   select distinct on (fault, job) fault, job, partition, entity, (count(*) over (partition by fault, job))::int as count
     from guilty order by fault, job, partition, entity`,
)

/** What the rows of some jobs are guilty of, by fault and job; none where all is well. */
export function faultyRows(db: Queryable, jobs: readonly bigint[]): Promise<FaultyRows[]> {
  return jobs.length === 0 ? Promise.resolve([]) : db.run(faults, [[...jobs]])
}

const strayed = statement<FaultyRows, [number, number]>(
  'verifying_stray_slots',
  `with stray as (
     select l.job, l.partition, l.entity from operation_live l
       join job j on j.job = l.job and j.organization = $1
       left join operation o on o.job = l.job and o.partition = l.partition and o.entity = l.entity
      where o.job is null or l.name <> j.name or o.status = 'PENDING' and o.started_at is null
   )
   select distinct on (job) 'liveSlotWithoutOperation' as fault, job, partition, entity,
          (count(*) over (partition by job))::int as count
     from stray order by job, partition, entity limit $2`,
)

/** Live slots of an organization that no live operation holds, by job. One pass over everything live. */
export function strayLiveSlots(db: Queryable, organization: number, limit: number): Promise<FaultyRows[]> {
  return db.run(strayed, [organization, limit])
}
