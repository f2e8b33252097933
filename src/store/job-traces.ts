/** The trace that a job goes on with: that of the request which made or activated it. Refuses to know what is traced. */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

const keep = statement<unknown, [bigint, string]>('job_traces_keep', 'update job set trace = $2 where job = $1')

/** Keeps the `traceparent` of a request with the job that it made or activated, in the transaction that does so. */
export async function keepJobTrace(db: Queryable, job: bigint, trace: string): Promise<void> {
  await db.run(keep, [job, trace])
}

/** What is needed to go on with a job's trace. */
export interface JobTrace {
  readonly job: bigint
  readonly name: string
  readonly trace: string | null
  /** operations that were ranked at its start; 0 before */
  readonly places: number
}

const read = statement<JobTrace, [bigint[]]>(
  'job_traces_read',
  'select job, name, trace, places from job where job = any($1::bigint[])',
)

/** The traces of jobs, in no order; a job that is gone is left out. */
export async function readJobTraces(db: Queryable, jobs: readonly bigint[]): Promise<JobTrace[]> {
  return jobs.length === 0 ? [] : await db.run(read, [[...jobs]])
}
