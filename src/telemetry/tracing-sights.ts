/**
 * What is seen of jobs, gathered until it is known which of them are traced. A job goes on with the trace that lies with it; one that a
 * task made begins one of its own when something is first seen of its run. It refuses to hold anybody up: what is too much is not shown.
 */
import type { Logger } from 'pino'
import type { Database } from '../store/database.ts'
import { beginJobTraces, type JobTrace, readJobTraces } from '../store/job-traces.ts'

/** A job with a trace to go on with. */
export type TracedJob = JobTrace & { readonly trace: string }

/** Something seen of a job, shown if that is traced. */
export interface Sight {
  readonly job: bigint
  isShown(job: TracedJob): boolean
  show(job: TracedJob): void
}

/** The run of a task, which is shown when its job goes on with `trace`, and never if another node was first. */
export interface Run {
  /** a `traceparent` */
  readonly trace: string
  show(): void
}

export interface Sights {
  see(sight: Sight): void
  /** Shows what has been seen. */
  settle(): Promise<void>
}

/** Sights wait for so long at most, and so many of them: beyond, they are not shown. */
const GATHER_MS = 200
const WAITING_MAX = 10_000
const JOBS_REMEMBERED = 10_000

const isTraced = (job: JobTrace): job is TracedJob => job.trace !== null
/** Whether a task with a trace made it, and no node has begun with its run, or it has not started yet. */
const waitsForRun = (job: JobTrace) => job.trace === null && job.taskTrace !== null

export function createSights(
  database: Database,
  log: Logger,
  runOf: (job: JobTrace, taskTrace: string, startedAt: Date) => Run,
): Sights {
  const jobs = new Map<bigint, JobTrace>()
  let waiting: Sight[] = []
  let timer: NodeJS.Timeout | null = null
  let gathering = Promise.resolve()

  function gather(): void {
    if (timer) clearTimeout(timer)
    timer = null
    const sights = waiting
    waiting = []
    gathering = gathering
      .then(() => show(sights))
      .catch((error: unknown) => log.warn({ err: error }, 'some of what was seen is not in its trace'))
  }

  async function show(sights: readonly Sight[]): Promise<void> {
    const unknown = [...new Set(sights.map(({ job }) => job))].filter(job => !jobs.has(job))
    const found = await withRunsBegun(await readJobTraces(database, unknown))
    for (const job of found) {
      if (jobs.size >= JOBS_REMEMBERED) jobs.delete(jobs.keys().next().value!)
      jobs.set(job.job, job)
    }
    for (const sight of sights) {
      const job = jobs.get(sight.job)
      if (job && isTraced(job) && sight.isShown(job)) sight.show(job)
    }
    for (const job of found) if (waitsForRun(job)) jobs.delete(job.job)
  }

  async function withRunsBegun(found: JobTrace[]): Promise<JobTrace[]> {
    const runs = new Map<bigint, Run>()
    for (const job of found) {
      if (waitsForRun(job) && job.startedAt) runs.set(job.job, runOf(job, job.taskTrace!, job.startedAt))
    }
    if (runs.size === 0) return found
    const ours = await beginJobTraces(database, new Map([...runs].map(([job, { trace }]) => [job, trace])))
    for (const job of ours) runs.get(job)!.show()
    const begun = await readJobTraces(database, [...runs.keys()])
    return [...found.filter(({ job }) => !runs.has(job)), ...begun]
  }

  return {
    see(sight) {
      const known = jobs.get(sight.job)
      const isHidden = known !== undefined && !(isTraced(known) && sight.isShown(known))
      if (isHidden || waiting.length >= WAITING_MAX) return
      waiting.push(sight)
      timer ??= setTimeout(gather, GATHER_MS).unref()
    },
    settle() {
      gather()
      return gathering
    },
  }
}
