/**
 * The launch gate: the one lock that orders every claim and hand-out against whatever closes a job, and the jobs as they are judged behind
 * it. Refuses to judge.
 */
import type { Round } from '../domain/fairness.ts'
import type { JobStatus } from '../domain/job.ts'
import type { Queryable } from './database.ts'
import { sameKey } from './same-key.ts'
import { statement } from './statement.ts'

/** The one advisory lock between launching and closing: its key means nothing but must be the same on all nodes. */
const gateLock = 7_305_001

/**
 * Whoever stands still in the gate for longer, its process stopped or starved, is shown out by the server, and has done nothing: others
 * wait behind it. One that goes on afterwards repeats its transaction.
 */
const standStillMs = 1_000
const shownOut = `set_config('idle_in_transaction_session_timeout', '${standStillMs}', true)`

const enterGate = statement<unknown, []>(
  'launch_gate_enter',
  `select pg_advisory_xact_lock_shared(${gateLock}), ${shownOut}`,
)
const closeGate = statement<unknown, []>('launch_gate_close', `select pg_advisory_xact_lock(${gateLock}), ${shownOut}`)

/** Taken by claims and hand-outs before they read which jobs may launch; held until their transaction ends. */
export async function enterLaunchGate(db: Queryable): Promise<void> {
  await db.run(enterGate, [])
}

/** Taken before the statement that closes a job's gate: no claim is under way then, and the next one sees it closed. */
export async function holdLaunchGate(db: Queryable): Promise<void> {
  await db.run(closeGate, [])
}

/** What decides whether anything of a job may be launched or handed out. */
export interface GatedJobRow {
  job: bigint
  status: JobStatus
  startAt: Date | null
  stopAt: Date | null
  unresolved: number
  window: unknown
}

const gatedColumns = `j.job, j.status, j.start_at as "startAt", j.stop_at as "stopAt", jsonb_array_length(j.unresolved) as unresolved,
          j.request -> 'schedule' -> 'window' as window`

const gatedJobs = statement<GatedJobRow, [bigint[]]>(
  'launch_gate_jobs',
  `select ${gatedColumns} from job j where j.job = any($1::bigint[])`,
)

/** Jobs as their gates are judged by. What was read after `enterLaunchGate` holds until the transaction ends. */
export function readGatedJobs(db: Queryable, jobs: readonly bigint[]): Promise<GatedJobRow[]> {
  return db.run(gatedJobs, [[...jobs]])
}

/** What the dispatcher needs of a job: its gates, and how it launches. */
export interface LaunchingJob extends GatedJobRow {
  organization: number
  places: number
  spreadMs: number
  launchAt: Date
  overdueFrom: number
  overduePlaces: number
  overdueAt: Date | null
  overdueMs: number
}

const launchingColumns = `${gatedColumns}, j.organization, j.places, j.spread_ms::float8 as "spreadMs", j.launch_at as "launchAt",
          j.overdue_from as "overdueFrom", j.overdue_places as "overduePlaces", j.overdue_at as "overdueAt",
          j.overdue_ms::float8 as "overdueMs"`

/** A job on the page of a turn. */
export interface JobInLine extends LaunchingJob {
  /** how many such jobs of the organization stood in line for this page, counted up to its size */
  inLine: number
}

/**
 * Organizations are found one after the other, each by one look at an index, and of each only as many jobs as a page holds. What is looked for
 * is what the gates of the domain let through, the window aside: it decides who is on the page, they decide who may launch.
 */
const jobsInLine = statement<JobInLine, [number[], bigint[], boolean[], number, Date]>(
  'launch_gate_jobs_in_line',
  `with recursive organizations as (
     (select organization from job where status = 'IN_PROGRESS' order by organization limit 1)
     union all
     select (select j.organization from job j where j.status = 'IN_PROGRESS' and j.organization > o.organization
              order by j.organization limit 1)
       from organizations o where o.organization is not null
   )
   select ${launchingColumns}, j.in_line::int as "inLine"
     from organizations o
     left join unnest($1::int[], $2::bigint[], $3::boolean[]) as gone(organization, after, through)
       on gone.organization = o.organization
    cross join lateral (
      select next.*, row_number() over (order by next.job) as seat, count(*) over () as in_line
        from (select j.* from job j
               where j.organization = o.organization and j.status = 'IN_PROGRESS' and j.unresolved = '[]'
                 and (j.stop_at is null or j.stop_at > $5)
                 and j.job > coalesce(gone.after, 0) and exists (select from operation_ready r where ${sameKey('r', 'j', ['job'])})
               order by j.job limit $4) next) j
    order by j.seat, coalesce(gone.through, false), j.job limit $4`,
)

/**
 * Jobs with something ready whose gates may be open: the first of each organization, then the second of each, in job order, from where a
 * round has got to; of more organizations than there is room for, those first that were not gone through.
 */
export function readJobsInLine(db: Queryable, round: Round, limit: number, now: Date): Promise<JobInLine[]> {
  const gone = [...round.values()]
  return db.run(jobsInLine, [
    [...round.keys()],
    gone.map(({ after }) => after),
    gone.map(({ through }) => through),
    limit,
    now,
  ])
}

const launchingJobs = statement<LaunchingJob, [bigint[]]>(
  'launch_gate_launching_jobs',
  `select ${launchingColumns} from job j where j.job = any($1::bigint[]) and j.launch_at is not null`,
)

/** These jobs, of those that have been launched, as the dispatcher judges them. */
export function readLaunchingJobs(db: Queryable, jobs: readonly bigint[]): Promise<LaunchingJob[]> {
  return db.run(launchingJobs, [[...jobs]])
}
