/** A job's row as clients read it. Refuses to read anything itself. Serves: Job as read. */
import type { JobView } from '../contract/job.ts'
import { jobId } from '../domain/identity.ts'
import { executionDates, jobSummary } from '../domain/job-report.ts'
import type { JobRow } from '../store/jobs.ts'

/** The job, unwrapped; empty reports are left out. */
export function jobView(job: JobRow): JobView {
  const { refused, warnings } = job
  return {
    id: jobId(job.job),
    ...(job.taskId !== null && { taskId: job.taskId }),
    request: { ...job.request, user: job.userEmail },
    report: {
      execution: executionDates(job.activatedAt, job.startedAt, job.finishedAt),
      summary: jobSummary(job, job.counters),
      ...(Object.keys(refused).length > 0 && { target: refused }),
      ...(warnings.length > 0 && { warnings: [...warnings] }),
    },
  }
}
