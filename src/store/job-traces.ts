/**
 * The traces that jobs go on with: of the request which made or activated one, or of the run of the task that made it. Refuses to know
 * what is traced.
 */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

const keep = statement<unknown, [bigint, string]>('job_traces_keep', 'update job set trace = $2 where job = $1')
const keepTask = statement<unknown, [bigint, string]>(
  'job_traces_keep_task',
  'update task set trace = $2 where task = $1',
)

/** Keeps the `traceparent` of a request with the job that it made or activated, in the transaction that does so. */
export async function keepJobTrace(db: Queryable, job: bigint, trace: string): Promise<void> {
  await db.run(keep, [job, trace])
}

/** Keeps the `traceparent` of a request with the task that it made or changed, in the transaction that does so. */
export async function keepTaskTrace(db: Queryable, task: bigint, trace: string): Promise<void> {
  await db.run(keepTask, [task, trace])
}

/** What is needed to go on with a job's trace. */
export interface JobTrace {
  readonly job: bigint
  readonly name: string
  readonly trace: string | null
  /** operations that were ranked at its start; 0 before */
  readonly places: number
  /** of one that a task made */
  readonly taskId: string | null
  readonly taskTrace: string | null
  /** when its start was due, and when it started */
  readonly startAt: Date | null
  readonly startedAt: Date | null
}

const read = statement<JobTrace, [bigint[]]>(
  'job_traces_read',
  `select j.job, j.name, j.trace, j.places, t.id as "taskId", t.trace as "taskTrace", j.start_at as "startAt",
          j.started_at as "startedAt"
     from job j left join task t on t.task = j.task
    where j.job = any($1::bigint[])`,
)

/** The traces of jobs, in no order; a job that is gone is left out. */
export async function readJobTraces(db: Queryable, jobs: readonly bigint[]): Promise<JobTrace[]> {
  return jobs.length === 0 ? [] : await db.run(read, [[...jobs]])
}

const begin = statement<{ job: bigint }, [bigint[], string[]]>(
  'job_traces_begin',
  `update job j set trace = i.trace
     from unnest($1::bigint[], $2::text[]) as i(job, trace)
    where j.job = i.job and j.trace is null
   returning j.job`,
)

/** Gives jobs that have none a trace; answers those of them that nobody else had given one meanwhile. */
export async function beginJobTraces(db: Queryable, traces: ReadonlyMap<bigint, string>): Promise<Set<bigint>> {
  const rows = traces.size === 0 ? [] : await db.run(begin, [[...traces.keys()], [...traces.values()]])
  return new Set(rows.map(({ job }) => job))
}
