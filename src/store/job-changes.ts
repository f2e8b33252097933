/**
 * What changed on jobs, by revision: the material of live events, kept ten minutes. What is newer is read once for all who watch.
 * Refuses to know who listens.
 */
import { COUNTERS, type Counters, noCounters, type Summary } from '../domain/counters.ts'
import { type JobSummary, jobSummary, type SummarisedJob } from '../domain/job-report.ts'
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** Channel on which every fold is announced. */
export const JOB_CHANGE_CHANNEL = 'drover_job_change'
/** How long changes are kept. */
export const CHANGES_KEPT_MS = 10 * 60_000

const isFinalSql = `j.status in ('FINISHED', 'FINISHED_WITH_ERRORS', 'CANCELLED', 'TIMEOUT_CANCELLED')`
/** Of a delta `d`: that it is more than the note of a status. */
const countsSql = `(${COUNTERS.map(counter => `d.${counter}`).join(', ')}) <> (${COUNTERS.map(() => '0').join(', ')})`

/** A fold of one job: its counters after it, and how many operations ended in it. */
export interface JobFold {
  readonly job: bigint
  readonly revision: bigint
  readonly summary: Summary
  readonly ended: number
  readonly successful: number
}

// A job may end between the fold and this statement: it is told as ended only with all that is counted.
const insert = statement<unknown, [bigint[], bigint[], string[], Date, number[], number[]]>(
  'job_changes_insert',
  `insert into job_change (job, revision, organization, changed_at, summary, ended, successful)
   select i.job, i.revision, j.organization, $4, whole.summary, i.ended, i.successful
     from unnest($1::bigint[], $2::bigint[], $3::jsonb[], $5::int[], $6::int[])
            as i(job, revision, summary, ended, successful)
     join job j on j.job = i.job
     left join lateral (
       select summary from job_change c where c.job = i.job and c.revision < i.revision order by c.revision desc limit 1
     ) before on true
    cross join lateral (
      select i.summary || case
        when ${isFinalSql} and exists (select from job_counter_delta d where d.job = j.job and ${countsSql})
          then jsonb_build_object('status', coalesce(before.summary ->> 'status', 'IN_PROGRESS'))
        when j.status = 'FINISHED_WITH_ERRORS'
          then jsonb_build_object('status', j.status, 'errorCode', coalesce(j.error_code, ''),
                                  'errorDescription', coalesce(j.error_description, ''))
        else jsonb_build_object('status', j.status) end as summary) whole
    where before.summary is distinct from whole.summary
   on conflict do nothing`,
)

/** Records the summaries of jobs at their revisions, where they say something new. */
export async function insertJobChanges(db: Queryable, folds: readonly JobFold[], now: Date): Promise<void> {
  if (folds.length === 0) return
  await db.run(insert, [
    folds.map(fold => fold.job),
    folds.map(fold => fold.revision),
    folds.map(fold => JSON.stringify(fold.summary)),
    now,
    folds.map(fold => fold.ended),
    folds.map(fold => fold.successful),
  ])
}

const announce = statement<unknown, []>('job_changes_announce', `select pg_notify('${JOB_CHANGE_CHANNEL}', '')`)

/** Tells every node, after the commit, that there are changes. */
export async function announceJobChanges(db: Queryable): Promise<void> {
  await db.run(announce, [])
}

const forget = statement<unknown, [Date, number]>(
  'job_changes_forget',
  `delete from job_change
    where ctid = any(array(select ctid from job_change where changed_at < $1 order by changed_at limit $2 for update skip locked))`,
)

/** Forgets up to `limit` changes older than an instant, the oldest first; answers how many. */
export function forgetJobChanges(db: Queryable, before: Date, limit: number): Promise<number> {
  return db.count(forget, [before, limit])
}

/** A job as it stands at a revision. Revisions only grow, and with them what the figures tell. */
export interface JobState {
  readonly job: bigint
  readonly name: string
  readonly organization: number
  readonly revision: bigint
  readonly changedAt: Date
  readonly summary: JobSummary
}

/** The newest state of a job, and how many operations ended in all the folds read with it. */
export interface JobChange extends JobState {
  readonly ended: number
  readonly successful: number
}

interface StateRow extends Omit<JobState, 'summary'>, SummarisedJob {
  readonly summary: JobSummary | null
  readonly counters: Counters | null
  /** whether there is something that the next fold tells */
  readonly awaitsFold: boolean
}

// Exact counters run ahead of the revision: a state is a change that was recorded, and else the folded row.
const stateSql = `select j.job, j.name, j.organization, coalesce(c.revision, k.revision, 0) as revision, c.summary,
    coalesce(c.changed_at, j.finished_at, j.started_at, j.activated_at, j.created_at) as "changedAt",
    to_jsonb(k) as counters, j.status, j.error_code as "errorCode", j.error_description as "errorDescription",
    exists (select from job_counter_delta d where d.job = j.job) as "awaitsFold"
  from job j
  left join job_counter k on k.job = j.job
  left join lateral (select * from job_change c where c.job = j.job order by c.revision desc limit 1) c on true`

const state = statement<StateRow, [number, bigint]>(
  'job_changes_state',
  `${stateSql} where j.organization = $1 and j.job = $2`,
)
const openStates = statement<StateRow, [number, number]>(
  'job_changes_open_states',
  `${stateSql}
    where j.organization = $1 and not (${isFinalSql}) and (j.task is null or j.status not in ('IDLE', 'SCHEDULED'))
    order by j.job desc limit $2`,
)

function stateOf({ summary, counters, status, errorCode, errorDescription, awaitsFold, ...row }: StateRow): JobState[] {
  if (summary) return [{ ...row, summary }]
  if (awaitsFold) return []
  return [{ ...row, summary: jobSummary({ status, errorCode, errorDescription }, counters ?? noCounters()) }]
}

/**
 * The revision of a job of an organization, and its state at that revision; no state where the next fold tells the first. Undefined
 * where there is no such job.
 */
export async function readJobState(
  db: Queryable,
  organization: number,
  job: bigint,
): Promise<{ revision: bigint; state?: JobState } | undefined> {
  const [row] = await db.run(state, [organization, job])
  if (!row) return undefined
  const [first] = stateOf(row)
  return { revision: row.revision, ...(first && { state: first }) }
}

/**
 * The newest open jobs of an organization, but for those that a task still waits with and those of which the next fold tells the
 * first.
 */
export async function readOpenJobStates(db: Queryable, organization: number, limit: number): Promise<JobState[]> {
  return (await db.run(openStates, [organization, limit])).flatMap(stateOf)
}

const newestSql = `select c.job, j.name, c.organization, c.revision, c.changed_at as "changedAt", c.summary, n.ended, n.successful
    from newer n join job_change c on c.job = n.job and c.revision = n.revision join job j on j.job = n.job`

const newerOfJobs = statement<JobChange & { known: bigint }, [bigint[], bigint[]]>(
  'job_changes_newer_of_jobs',
  `with newer as (
     select c.job, w.known, max(c.revision) as revision, sum(c.ended)::int as ended, sum(c.successful)::int as successful
       from unnest($1::bigint[], $2::bigint[]) as w(job, known)
       join job_change c on c.job = w.job and c.revision > w.known
      group by c.job, w.known)
   ${newestSql.replace('n.ended', 'n.known, n.ended')}`,
)

/** A job and the revision that somebody knows of it. */
export interface KnownJob {
  readonly job: bigint
  readonly known: bigint
}

/** The newest change of each job beyond the revision known of it; where there is none it is left out. */
export async function readNewerOfJobs(
  db: Queryable,
  known: readonly KnownJob[],
): Promise<(JobChange & { known: bigint })[]> {
  return known.length === 0
    ? []
    : await db.run(newerOfJobs, [known.map(each => each.job), known.map(each => each.known)])
}

/** What was committed when something was read, in PostgreSQL's own words: `xmin:xmax:xip,…`. */
export type Snapshot = string

const snapshot = statement<{ snapshot: Snapshot }, []>(
  'job_changes_snapshot',
  'select pg_current_snapshot()::text as snapshot',
)

/** The snapshot of this moment, or of the transaction. */
export async function readSnapshot(db: Queryable): Promise<Snapshot> {
  return (await db.run(snapshot, []))[0]!.snapshot
}

type MaybeChange = { snapshot: Snapshot } & (JobChange | { job: null })

const newerOfOrganizations = statement<MaybeChange, [number[], Snapshot]>(
  'job_changes_newer_of_organizations',
  `with newer as materialized (
     select job, max(revision) as revision, sum(ended)::int as ended, sum(successful)::int as successful
       from job_change
      where organization = any($1::int[]) and xid >= pg_snapshot_xmin($2::pg_snapshot)
        and not pg_visible_in_snapshot(xid, $2::pg_snapshot)
        -- What a restored backup brought may bear transactions that this database has not come to.
        and xid < pg_snapshot_xmax(pg_current_snapshot())
      group by job)
   select read_at.snapshot, changes.*
     from (select pg_current_snapshot()::text as snapshot) read_at left join (${newestSql}) changes on true`,
)

/**
 * The newest change of each job of the organizations that a snapshot did not see, and the snapshot to go on from: going on so, every
 * change is read once, however late its transaction was committed.
 */
export async function readNewerOfOrganizations(
  db: Queryable,
  organizations: readonly number[],
  since: Snapshot,
): Promise<{ changes: JobChange[]; snapshot: Snapshot }> {
  const rows = await db.run(newerOfOrganizations, [[...organizations], since])
  const changes = rows.flatMap(row => (row.job === null ? [] : [row]))
  return { changes, snapshot: rows[0]!.snapshot }
}

/** How many operations ended in a second. */
export interface SecondCount {
  readonly at: Date
  readonly ended: number
  readonly successful: number
}

const secondsSql = `select date_trunc('second', changed_at) as at, sum(ended)::int as ended, sum(successful)::int as successful
    from job_change`
const secondsOfJob = statement<SecondCount, [bigint]>(
  'job_changes_seconds_of_job',
  `${secondsSql} where job = $1 group by 1 having sum(ended) > 0 order by 1`,
)
const secondsOfOrganization = statement<SecondCount, [number]>(
  'job_changes_seconds_of_organization',
  `${secondsSql} where organization = $1 group by 1 having sum(ended) > 0 order by 1`,
)

/** What ended in each second of the last ten minutes; seconds without anything are left out. */
export function readSecondsOfJob(db: Queryable, job: bigint): Promise<SecondCount[]> {
  return db.run(secondsOfJob, [job])
}

/** The same over all jobs of an organization. */
export function readSecondsOfOrganization(db: Queryable, organization: number): Promise<SecondCount[]> {
  return db.run(secondsOfOrganization, [organization])
}
