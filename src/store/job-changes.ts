/** What changed on jobs, by revision: the material of live events, kept ten minutes. Refuses to know who listens. */
import type { Summary } from '../domain/counters.ts'
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** Channel on which every fold is announced. */
export const JOB_CHANGE_CHANNEL = 'drover_job_change'

const insert = statement<unknown, [bigint[], bigint[], string[], Date]>(
  'job_changes_insert',
  `insert into job_change (job, revision, organization, changed_at, summary)
   select i.job, i.revision, j.organization, $4, i.summary || jsonb_build_object('status', j.status)
     from unnest($1::bigint[], $2::bigint[], $3::jsonb[]) as i(job, revision, summary) join job j on j.job = i.job
   on conflict do nothing`,
)

/** Records the summaries of jobs at their revisions. */
export async function insertJobChanges(
  db: Queryable,
  changes: readonly { readonly job: bigint; readonly revision: bigint; readonly summary: Summary }[],
  now: Date,
): Promise<void> {
  if (changes.length === 0) return
  await db.run(insert, [
    changes.map(change => change.job),
    changes.map(change => change.revision),
    changes.map(change => JSON.stringify(change.summary)),
    now,
  ])
}

const announce = statement<unknown, []>('job_changes_announce', `select pg_notify('${JOB_CHANGE_CHANNEL}', '')`)

/** Tells every node, after the commit, that there are changes. */
export async function announceJobChanges(db: Queryable): Promise<void> {
  await db.run(announce, [])
}

const forget = statement<unknown, [Date]>('job_changes_forget', 'delete from job_change where changed_at < $1')

/** Forgets changes older than an instant. */
export async function forgetJobChanges(db: Queryable, before: Date): Promise<void> {
  await db.run(forget, [before])
}
