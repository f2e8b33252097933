/** A job's row as clients read it. Refuses to read anything itself. Serves: Job as read. */
import type { JobSummaryView, JobView } from '../contract/job.ts'
import type { ExecutionView } from '../contract/operation.ts'
import { summaryOf } from '../domain/counters.ts'
import { jobId } from '../domain/identity.ts'
import type { JobRow } from '../store/jobs.ts'

/** The job, unwrapped; empty reports are left out. */
export function jobView(job: JobRow): JobView {
  const { refused, warnings } = job
  return {
    id: jobId(job.job),
    ...(job.taskId !== null && { taskId: job.taskId }),
    request: { ...job.request, user: job.userEmail },
    report: {
      execution: executionView(job.activatedAt, job.startedAt, job.finishedAt),
      summary: summaryView(job),
      ...(Object.keys(refused).length > 0 && { target: refused }),
      ...(warnings.length > 0 && { warnings: [...warnings] }),
    },
  }
}

/** Dates in UTC, empty where there is none. */
export function executionView(
  activatedAt: Date | null,
  startedAt: Date | null,
  finishedAt: Date | null,
): ExecutionView {
  return {
    activatedDate: dateView(activatedAt),
    startedDate: dateView(startedAt),
    finishedDate: dateView(finishedAt),
  }
}

/** ISO 8601 UTC, empty where there is none. */
export function dateView(at: Date | null): string {
  return at?.toISOString() ?? ''
}

function summaryView(job: JobRow): JobSummaryView {
  const failed = job.status === 'FINISHED_WITH_ERRORS'
  return {
    status: job.status,
    ...summaryOf(job.counters),
    ...(failed && { errorCode: job.errorCode ?? '', errorDescription: job.errorDescription ?? '' }),
  }
}
