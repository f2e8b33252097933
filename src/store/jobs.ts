/**
 * Jobs as rows: made, read with exact counters, locked and changed. The hot path reads them and never writes them.
 */
import type { Counters } from '../domain/counters.ts'
import type { JobRequest, JobStatus, TargetReport, TargetSelection } from '../domain/job.ts'
import type { OperationResult } from '../domain/operation.ts'
import { exactCountersSql } from './counters.ts'
import type { Queryable } from './database.ts'
import { failsUnless, statement } from './statement.ts'

/** A part of a target still to be resolved by the service. */
export type UnresolvedTarget =
  | ({ readonly tag: string } & UnresolvedScope)
  | ({ readonly filter: Readonly<Record<string, unknown>> } & UnresolvedScope)
  /** a list that is judged only when the job of a task starts */
  | { readonly listed: TargetSelection }

interface UnresolvedScope {
  readonly resourceType?: string
  /** the first partition of entities that has not been looked at */
  readonly fromPartition?: number
  /** what the client has taken out since it was named */
  readonly except?: Pick<TargetSelection, 'entities' | 'tags'>
}

/** What a client should know and did not ask for. */
export type JobWarning = { readonly code: string } & Readonly<Record<string, unknown>>

/** A job as stored. Spans in milliseconds. */
export interface StoredJob {
  job: bigint
  organization: number
  task: bigint | null
  name: string
  userEmail: string
  request: JobRequest
  status: JobStatus
  unresolved: readonly UnresolvedTarget[]
  refused: TargetReport
  warnings: readonly JobWarning[]
  createdAt: Date
  activatedAt: Date | null
  startedAt: Date | null
  finishedAt: Date | null
  startAt: Date | null
  stopAt: Date | null
  /** when the gate of a job in progress opens next */
  wakeAt: Date | null
  /** how often its target could not be resolved */
  resolveFailures: number
  ackTimeoutMs: number
  timeoutMs: number
  retries: number
  retriesDelayMs: number
  retryResults: readonly OperationResult[]
  places: number
  spreadMs: number
  launchAt: Date | null
  overdueFrom: number
  overduePlaces: number
  overdueAt: Date | null
  overdueMs: number
  errorCode: string | null
  errorDescription: string | null
}

/** A job with its counters, read in one snapshot, and the public id of the task that made it. */
export interface JobRow extends StoredJob {
  taskId: string | null
  counters: Counters
}

const storedColumns = `j.job, j.organization, j.task, j.name, j.user_email as "userEmail", j.request, j.status, j.unresolved,
  j.refused, j.warnings, j.created_at as "createdAt", j.activated_at as "activatedAt", j.started_at as "startedAt",
  j.finished_at as "finishedAt", j.start_at as "startAt", j.stop_at as "stopAt",
  j.wake_at as "wakeAt", j.resolve_failures as "resolveFailures",
  j.ack_timeout_ms::float8 as "ackTimeoutMs", j.timeout_ms::float8 as "timeoutMs", j.retries,
  j.retries_delay_ms::float8 as "retriesDelayMs", j.retry_results as "retryResults", j.places,
  j.spread_ms::float8 as "spreadMs", j.launch_at as "launchAt", j.overdue_from as "overdueFrom",
  j.overdue_places as "overduePlaces", j.overdue_at as "overdueAt", j.overdue_ms::float8 as "overdueMs",
  j.error_code as "errorCode", j.error_description as "errorDescription"`

/** Columns of a `JobRow` over `job j` and the exact counters; for reads that compose their own conditions. */
export const jobRowColumnsSql = `${storedColumns}, (select t.id from task t where t.task = j.task) as "taskId",
  to_jsonb(counters) as counters`

/** The `from` that goes with `jobRowColumnsSql`. */
export const jobRowFromSql = `job j cross join ${exactCountersSql}`

const insert = statement<unknown, readonly unknown[]>(
  'jobs_insert',
  `with told as (insert into job_counter_delta (job) select $1::bigint where $3::bigint is null)
   insert into job (job, organization, task, name, user_email, request, status, unresolved, refused, warnings, created_at,
                    activated_at, started_at, finished_at, start_at, stop_at, ack_timeout_ms, timeout_ms, retries,
                    retries_delay_ms, retry_results)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
)

/** Stores a new job. The next fold tells of it, unless a task waits with it: that may yet be taken back. */
export async function insertJob(db: Queryable, job: StoredJob): Promise<void> {
  await db.run(insert, [
    job.job,
    job.organization,
    job.task,
    job.name,
    job.userEmail,
    job.request,
    job.status,
    JSON.stringify(job.unresolved),
    job.refused,
    JSON.stringify(job.warnings),
    job.createdAt,
    job.activatedAt,
    job.startedAt,
    job.finishedAt,
    job.startAt,
    job.stopAt,
    job.ackTimeoutMs,
    job.timeoutMs,
    job.retries,
    job.retriesDelayMs,
    job.retryResults,
  ])
}

const update = statement<unknown, readonly unknown[]>(
  'jobs_update',
  `with told as (
     insert into job_counter_delta (job) select job from job where job = $1 and status is distinct from $3::job_status
   )
   update job set request = $2, status = $3, unresolved = $4, refused = $5, warnings = $6, activated_at = $7, started_at = $8,
                  finished_at = $9, start_at = $10, stop_at = $11, places = $12, spread_ms = $13, launch_at = $14,
                  overdue_from = $15, overdue_places = $16, overdue_at = $17, overdue_ms = $18, error_code = $19,
                  error_description = $20, wake_at = $21, resolve_failures = $22
    where job = $1`,
)

/** Writes a job that was locked by this transaction. Where its status changes, the next fold tells of it. */
export async function updateJob(db: Queryable, job: StoredJob): Promise<void> {
  await db.run(update, [
    job.job,
    job.request,
    job.status,
    JSON.stringify(job.unresolved),
    job.refused,
    JSON.stringify(job.warnings),
    job.activatedAt,
    job.startedAt,
    job.finishedAt,
    job.startAt,
    job.stopAt,
    job.places,
    job.spreadMs,
    job.launchAt,
    job.overdueFrom,
    job.overduePlaces,
    job.overdueAt,
    job.overdueMs,
    job.errorCode,
    job.errorDescription,
    job.wakeAt,
    job.resolveFailures,
  ])
}

const lock = statement<StoredJob, [bigint[]]>(
  'jobs_lock',
  `select ${storedColumns} from job j where j.job = any($1::bigint[]) order by j.job for no key update of j`,
)

/** Locks jobs in job order until the transaction ends. */
export function lockJobs(db: Queryable, jobs: readonly bigint[]): Promise<StoredJob[]> {
  return jobs.length === 0 ? Promise.resolve([]) : db.run(lock, [[...jobs]])
}

const lockFree = statement<StoredJob, [bigint[]]>(
  'jobs_lock_free',
  `select ${storedColumns} from job j where j.job = any($1::bigint[]) order by j.job for no key update of j skip locked`,
)

/** Locks those jobs that nobody holds: what another node is moving now is left to it. */
export function lockFreeJobs(db: Queryable, jobs: readonly bigint[]): Promise<StoredJob[]> {
  return jobs.length === 0 ? Promise.resolve([]) : db.run(lockFree, [[...jobs]])
}

const read = statement<JobRow, [number, bigint]>(
  'jobs_read',
  `select ${jobRowColumnsSql} from ${jobRowFromSql} where j.organization = $1 and j.job = $2`,
)

/** One job of an organization with exact counters, or undefined. */
export async function readJob(db: Queryable, organization: number, job: bigint): Promise<JobRow | undefined> {
  return (await db.run(read, [organization, job]))[0]
}

const readStored = statement<StoredJob, [bigint]>(
  'jobs_read_stored',
  `select ${storedColumns} from job j where j.job = $1`,
)

/** One job as it stands, without its counters. */
export async function readStoredJob(db: Queryable, job: bigint): Promise<StoredJob | undefined> {
  return (await db.run(readStored, [job]))[0]
}

const readMany = statement<JobRow, [bigint[]]>(
  'jobs_read_many',
  `select ${jobRowColumnsSql} from ${jobRowFromSql} where j.job = any($1::bigint[])`,
)

/** Jobs with exact counters, in the order of their numbers as given. Whose they are, the caller has asked. */
export async function readJobs(db: Queryable, jobs: readonly bigint[]): Promise<JobRow[]> {
  const rows = new Map((await db.run(readMany, [[...jobs]])).map(row => [row.job, row]))
  return jobs.flatMap(job => rows.get(job) ?? [])
}

/** What the transitions of operations need of their job. */
export interface JobRules {
  job: bigint
  organization: number
  name: string
  status: JobStatus
  ackTimeoutMs: number
  timeoutMs: number
  retries: number
  retriesDelayMs: number
  retryResults: readonly OperationResult[]
  /** tells these rules from those that the job had before, or will have */
  version: string
}

const rulesVersion = 'row(name, status, ack_timeout_ms, timeout_ms, retries, retries_delay_ms, retry_results)::text'

const readRules = statement<JobRules, [bigint[]]>(
  'jobs_read_rules',
  `select job, organization, name, status, ack_timeout_ms::float8 as "ackTimeoutMs", timeout_ms::float8 as "timeoutMs",
          retries, retries_delay_ms::float8 as "retriesDelayMs", retry_results as "retryResults", ${rulesVersion} as version
     from job where job = any($1::bigint[])`,
)

/** The rules of jobs, by job number. */
export async function readJobRules(db: Queryable, jobs: readonly bigint[]): Promise<Map<bigint, JobRules>> {
  const rows = jobs.length === 0 ? [] : await db.run(readRules, [[...jobs]])
  return new Map(rows.map(row => [row.job, row]))
}

const rulesHold = statement<unknown, [bigint[], string[]]>(
  'jobs_rules_hold',
  `select ${failsUnless('count(*) = cardinality($1::bigint[])')} as hold
     from unnest($1::bigint[], $2::text[]) as k(number, version) join job on job = k.number and ${rulesVersion} = k.version`,
)

/** Fails with `22012` unless all of these are still the rules of their jobs. */
export async function assertRules(db: Pick<Queryable, 'run'>, rules: readonly JobRules[]): Promise<void> {
  await db.run(rulesHold, [rules.map(({ job }) => job), rules.map(({ version }) => version)])
}

const exactCounters = statement<{ job: bigint; counters: Counters }, [bigint[]]>(
  'jobs_exact_counters',
  `select j.job, to_jsonb(counters) as counters from job j cross join ${exactCountersSql} where j.job = any($1::bigint[])`,
)

/** Exact counters of jobs, in one snapshot. */
export async function readCounters(db: Queryable, jobs: readonly bigint[]): Promise<Map<bigint, Counters>> {
  const rows = await db.run(exactCounters, [[...jobs]])
  return new Map(rows.map(row => [row.job, row.counters]))
}
