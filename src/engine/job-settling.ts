/**
 * Ends jobs that have nothing open left: names their end, dates it, and tells those who asked to be told, all in the caller's
 * transaction. Refuses to count: the store counts exactly.
 */
import { ERRORS } from '../domain/errors.ts'
import { decideJob, type JobStatus } from '../domain/job.ts'
import { clearReady } from '../store/claims.ts'
import type { Transaction } from '../store/database.ts'
import { countEndedResults } from '../store/ended-operations.ts'
import { lockJobs, type StoredJob, updateJob } from '../store/jobs.ts'
import { settledJobs } from '../store/jobs-due.ts'
import { awaitRanking } from '../store/targets.ts'

/** What is to be told to clients when jobs start and end, in the transaction that moves them. */
export interface JobNotices {
  started(tx: Transaction, jobs: readonly StoredJob[], now: Date): Promise<void>
  finished(tx: Transaction, jobs: readonly StoredJob[], now: Date): Promise<void>
}

/** A job that is under way and has nothing open left, and how many operations it had. */
export interface EndableJob {
  readonly job: bigint
  readonly total: number
}

export interface JobSettling {
  /** Those of the jobs that can be ended, counted exactly, in order. */
  endable(tx: Transaction, jobs: readonly bigint[]): Promise<EndableJob[]>
  /** Ends those of the jobs that still can be; answers them. */
  end(tx: Transaction, jobs: readonly bigint[], now: Date): Promise<StoredJob[]>
  /** Ends those of the jobs that are under way and have nothing open left; answers them. */
  settle(tx: Transaction, jobs: readonly bigint[], now: Date): Promise<StoredJob[]>
}

export function createJobSettling(notices: JobNotices): JobSettling {
  const settling: JobSettling = {
    endable: settledJobs,
    async end(tx, jobs, now) {
      if (jobs.length === 0) return []
      const locked = await lockJobs(tx, jobs)
      // Counted under the lock: a job that moved meanwhile is another matter.
      const settled = new Map(
        (
          await settledJobs(
            tx,
            locked.map(job => job.job),
          )
        ).map(each => [each.job, each]),
      )
      const ended: StoredJob[] = []
      for (const job of locked) {
        const count = settled.get(job.job)
        if (!count) continue
        const nothingRan = count.total === 0
        job.status = decideJob(job.status, count.allSuccessful && !nothingRan ? 'allSuccessful' : 'allEnded')
          .to as JobStatus
        job.finishedAt = now
        if (job.status === 'FINISHED_WITH_ERRORS') await explainErrors(tx, job, nothingRan)
        await updateJob(tx, job)
        // Its places may be being written by a start that will find the job gone.
        if (job.launchAt === null) await awaitRanking(tx, job.job)
        await clearReady(tx, job.job)
        ended.push(job)
      }
      await notices.finished(tx, ended, now)
      return ended
    },
    async settle(tx, jobs, now) {
      const endable = await settling.endable(tx, jobs)
      return await settling.end(
        tx,
        endable.map(({ job }) => job),
        now,
      )
    },
  }
  return settling
}

async function explainErrors(tx: Transaction, job: StoredJob, nothingRan: boolean): Promise<void> {
  if (nothingRan) {
    job.errorCode ??= ERRORS.noTarget.code
    job.errorDescription ??= ERRORS.noTarget.message
    return
  }
  job.errorCode = ERRORS.operationsFailed.code
  const results = await countEndedResults(tx, job.job)
  job.errorDescription = results
    .filter(({ result }) => result !== 'SUCCESSFUL' && result !== 'PARTIAL_SUCCESS')
    .map(({ result, count }) => `${result}: ${count}`)
    .join(', ')
}
