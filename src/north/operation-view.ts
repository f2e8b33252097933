/** An operation's row as clients read it, with what stands once with its job. Refuses to read anything itself. Serves: Operation. */
import type { OperationView } from '../contract/operation.ts'
import { jobId, operationId } from '../domain/identity.ts'
import { dateText, executionDates } from '../domain/job-report.ts'
import type { StoredJob } from '../store/jobs.ts'
import type { OperationReading } from '../store/operation-reading.ts'

/** What an operation shows of its job. */
export type JobOfOperation = Pick<StoredJob, 'name' | 'userEmail' | 'request' | 'retries' | 'createdAt' | 'activatedAt'>

/** The operation, unwrapped. */
export function operationView(operation: OperationReading, job: JobOfOperation): OperationView {
  const { attempts } = operation
  return {
    operationId: operationId(operation),
    jobId: jobId(operation.job),
    entityId: operation.identifier,
    resourceType: operation.resourceType,
    name: job.name,
    parameters: operation.parameters ?? job.request.parameters,
    attempts: {
      total: job.retries + 1,
      current: operation.attempt,
      ...(attempts?.length && {
        history: attempts.map(({ startedAt, endedAt, steps, ...attempt }) => ({
          ...attempt,
          startedDate: startedAt,
          finishedDate: endedAt,
          steps: [...steps],
        })),
      }),
    },
    notify: job.request.notify,
    execution: executionDates(job.activatedAt, operation.startedAt, operation.endedAt),
    user: job.userEmail,
    status: operation.status,
    result: operation.result ?? 'OPERATION_PENDING',
    description: operation.description ?? '',
    date: dateText(job.activatedAt ?? job.createdAt),
    userNotes: job.request.userNotes ?? '',
    steps: [...(operation.steps ?? [])],
  }
}
