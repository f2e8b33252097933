/**
 * Which jobs there is something to do for: those whose time has come, whose target waits, which are being cancelled or have nothing
 * open left; and when a job is to be looked after next. Refuses to change anything else of it.
 */
import type { JobStatus } from '../domain/job.ts'
import type { OperationStatus } from '../domain/operation.ts'
import { exactCountersSql, OPERATIONS_COUNTED } from './counters.ts'
import type { Database, Queryable, Transaction } from './database.ts'
import { isThereSql, ofDevicesSql } from './operation-waking.ts'
import { render, statement } from './statement.ts'

const due = statement<{ job: bigint }, [Date, number, bigint[]]>(
  'jobs_due',
  `with starting as (
     select job from job where status = 'SCHEDULED' and unresolved = '[]' and start_at <= $1 and job <> all($3::bigint[])
      order by start_at, job limit $2 for no key update skip locked
   ), stopping as (
     select job from job where status in ('IN_PROGRESS', 'PAUSED') and stop_at <= $1 and job <> all($3::bigint[])
      order by stop_at, job limit $2 for no key update skip locked
   ), opening as (
     select job from job where status = 'IN_PROGRESS' and wake_at <= $1 and job <> all($3::bigint[])
      order by wake_at, job limit $2 for no key update skip locked
   )
   select job from starting union select job from stopping union select job from opening order by job`,
)

/** How much is asked for at a time, and what is in hand already, which hides nothing behind it. */
export interface Asked {
  readonly limit: number
  readonly except: readonly bigint[]
}

/** Jobs whose start, stop or next opening has come, at most `limit` of each kind; those that somebody holds now are left to him. */
export async function dueJobs(db: Queryable, now: Date, { limit, except }: Asked): Promise<bigint[]> {
  return (await db.run(due, [now, limit, [...except]])).map(row => row.job)
}

const nextDue = statement<{ dueAt: Date | null }, [Date]>(
  'jobs_next_due',
  `select least((select min(start_at) from job where status = 'SCHEDULED' and unresolved = '[]' and start_at > $1),
                (select min(stop_at) from job where status in ('IN_PROGRESS', 'PAUSED') and stop_at > $1),
                (select min(wake_at) from job where status = 'IN_PROGRESS' and wake_at > $1)) as "dueAt"`,
)

/** When, after an instant, the next job starts, stops or opens, or null. */
export async function nextJobDueAt(db: Queryable, now: Date): Promise<Date | null> {
  return (await db.run(nextDue, [now]))[0]?.dueAt ?? null
}

/** Open operations of a job up to which it is looked whether one of them can be sent: of such jobs there may be very many. */
const FEW = 20

/** Written so that only the primary key gives them in this order: no other way through the table could seem as short. */
const fewWaitingSql = `select partition, entity from operation
        where job between j.job and j.job and status = $1::operation_status and counted.open <= ${FEW}
        order by job, partition, entity limit ${FEW}`

const waitingForSomebody = statement<{ job: bigint }, [OperationStatus]>(
  'jobs_waiting_for_somebody',
  `select j.job from job j cross join ${exactCountersSql}
    cross join lateral (select ${render(OPERATIONS_COUNTED.open).text} as open) counted
     left join lateral (
       select true as sendable from (${fewWaitingSql}) o
         ${ofDevicesSql}
        where ${isThereSql} limit 1
     ) found on true
    where j.status = 'IN_PROGRESS' and counters.waiting_for_connection > 0 and (found.sendable or counted.open > ${FEW})`,
)

const openAgain = statement<unknown, [bigint[], Date]>(
  'jobs_open_again',
  `with waiting as (
     select job from job
      where job = any($1::bigint[]) and status = 'IN_PROGRESS' and (wake_at is null or wake_at > $2)
      order by job for no key update skip locked
   )
   update job j set wake_at = $2 from waiting w where j.job = w.job`,
)

/**
 * Has those jobs in progress of which operations wait for devices that are there looked after as if their gates opened at an instant, and
 * larger ones of which any wait; those that somebody holds now are left to him. Answers how many.
 */
export function openAgainWhatWaits(database: Database, now: Date): Promise<number> {
  const work = async (tx: Transaction) => {
    const jobs = (await tx.run(waitingForSomebody, ['WAITING_FOR_CONNECTION'])).map(({ job }) => job)
    return jobs.length === 0 ? 0 : await tx.count(openAgain, [jobs, now])
  }
  return database.transaction(work, { byKey: true })
}

const unresolved = statement<{ job: bigint }, [Date, number, number, bigint[]]>(
  'jobs_unresolved',
  `with asked as (
     select job from job
      where status in ('IDLE', 'SCHEDULED') and unresolved <> '[]' and task is null and resolve_failures < $2
        and job <> all($4::bigint[])
      order by resolve_failures, job limit $3 for no key update skip locked
   ), starting as (
     select job from job
      where status = 'SCHEDULED' and unresolved <> '[]' and task is not null and start_at <= $1 and resolve_failures < $2
        and job <> all($4::bigint[])
      order by start_at, job limit $3 for no key update skip locked
   )
   select job from asked union all select job from starting order by job`,
)

/**
 * Jobs whose target is to be resolved now, and has not failed so often: a task's only when it starts. At most `limit` of tasks and as
 * many others; those that somebody holds now are left to him, and never hide the ones behind them.
 */
export async function unresolvedJobs(
  db: Queryable,
  now: Date,
  { failuresMax, limit, except }: Asked & { readonly failuresMax: number },
): Promise<bigint[]> {
  return (await db.run(unresolved, [now, failuresMax, limit, [...except]])).map(row => row.job)
}

const nextUnresolved = statement<{ dueAt: Date | null }, [Date]>(
  'jobs_next_unresolved',
  `select min(start_at) as "dueAt" from job
    where status = 'SCHEDULED' and unresolved <> '[]' and task is not null and start_at > $1`,
)

/** When, after an instant, the next task's job starts, and is to be resolved for that; or null. */
export async function nextUnresolvedAt(db: Queryable, now: Date): Promise<Date | null> {
  return (await db.run(nextUnresolved, [now]))[0]?.dueAt ?? null
}

const spreading = statement<{ job: bigint }, [bigint, number]>(
  'jobs_spreading',
  `select job from job where status = 'IN_PROGRESS' and spread_ms > 0 and job > $1 order by job limit $2`,
)

/** Jobs in progress whose operations are spread over time, after a job number, in job order. */
export async function spreadingJobs(db: Queryable, after: bigint, limit: number): Promise<bigint[]> {
  return (await db.run(spreading, [after, limit])).map(row => row.job)
}

/** A job whose operations are still being cancelled, and in which status. */
export interface CancellingJob {
  job: bigint
  status: JobStatus
}

const cancelling = statement<CancellingJob, [bigint, number]>(
  'jobs_cancelling',
  `select job, status from job where status in ('CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE') and job > $1
    order by job limit $2`,
)

/** Jobs that are being cancelled, after a job number, in job order. */
export function cancellingJobs(db: Queryable, after: bigint, limit: number): Promise<CancellingJob[]> {
  return db.run(cancelling, [after, limit])
}

const settled = statement<{ job: bigint; allSuccessful: boolean; total: number }, [bigint[]]>(
  'jobs_settled',
  `select j.job, counters.successful = ended.total as "allSuccessful", ended.total
     from job j cross join ${exactCountersSql}
     cross join lateral (
       select counters.successful + counters.error + counters.by_user + counters.by_engine + counters.by_timeout
              + counters.by_external_timeout + counters.by_external + counters.by_already_in_progress
              + counters.oot_successful + counters.oot_error as total,
              counters.scheduled + counters.pending_execution + counters.waiting_for_connection + counters.started as open
     ) ended
    where j.job = any($1::bigint[]) and j.unresolved = '[]' and ended.open = 0
      and j.status in ('IN_PROGRESS', 'PAUSED', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE')
    order by j.job`,
)

/** Those of the jobs that are under way and have no open operation left, counted exactly, in order. */
export function settledJobs(
  db: Queryable,
  jobs: readonly bigint[],
): Promise<{ job: bigint; allSuccessful: boolean; total: number }[]> {
  return jobs.length === 0 ? Promise.resolve([]) : db.run(settled, [[...jobs]])
}

const listedNext = statement<{ listed: boolean }, [bigint]>(
  'jobs_due_listed_next',
  `select coalesce(unresolved -> 0 ? 'listed', false) as listed from job where job = $1`,
)

/** Whether what is to be resolved next of a job is a list. */
export async function isListedNext(db: Queryable, job: bigint): Promise<boolean> {
  return (await db.run(listedNext, [job]))[0]?.listed ?? false
}
