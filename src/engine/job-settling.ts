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

export interface JobSettling {
  /** Ends those of the jobs that are under way and have nothing open left; answers them. */
  settle(tx: Transaction, jobs: readonly bigint[], now: Date): Promise<StoredJob[]>
}

export function createJobSettling(notices: JobNotices): JobSettling {
  return {
    async settle(tx, jobs, now) {
      const candidates = await settledJobs(tx, jobs)
      if (candidates.length === 0) return []
      const locked = await lockJobs(
        tx,
        candidates.map(candidate => candidate.job),
      )
      // Counted again under the lock: a job that moved meanwhile is another matter.
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
  }
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
