/** What clients are told of a job beside its request: its dates, its status and its counters. Serves: Job as read (`report`). */
import { type Counters, type Summary, summaryOf } from './counters.ts'
import type { JobStatus } from './job.ts'

/** ISO 8601 UTC, empty where there is none. */
export interface ExecutionDates {
  activatedDate: string
  startedDate: string
  finishedDate: string
}

/** Dates in UTC, empty where there is none. */
export function executionDates(
  activatedAt: Date | null,
  startedAt: Date | null,
  finishedAt: Date | null,
): ExecutionDates {
  return {
    activatedDate: dateText(activatedAt),
    startedDate: dateText(startedAt),
    finishedDate: dateText(finishedAt),
  }
}

/** ISO 8601 UTC, empty where there is none. */
export function dateText(at: Date | null): string {
  return at?.toISOString() ?? ''
}

/** Serves: Job as read (`report.summary`). The error is there only where the job finished with errors. */
export type JobSummary = { status: JobStatus } & Summary & { errorCode?: string; errorDescription?: string }

/** What a summary needs of a job. */
export interface SummarisedJob {
  readonly status: JobStatus
  readonly errorCode: string | null
  readonly errorDescription: string | null
}

/** The summary of a job as it stands, with its exact counters. */
export function jobSummary(job: SummarisedJob, counters: Readonly<Counters>): JobSummary {
  const failed = job.status === 'FINISHED_WITH_ERRORS'
  return {
    status: job.status,
    ...summaryOf(counters),
    ...(failed && { errorCode: job.errorCode ?? '', errorDescription: job.errorDescription ?? '' }),
  }
}
