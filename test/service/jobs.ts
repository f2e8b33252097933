/** What a client sees of jobs, and a count of their operations made from the listing alone. */
import { expect } from 'vitest'
import type { JobSummaryView, JobView } from '../../src/contract/job.ts'
import type { OperationView } from '../../src/contract/operation.ts'
import type { Client } from './client.ts'
import { readEvents } from './event-stream.ts'

export type Counters = Omit<JobSummaryView, 'status' | 'errorCode' | 'errorDescription'>

/** An UPDATE that every pretend device can do, on all devices of a tag. */
export function updateRequest(tag: string, request: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'UPDATE',
    parameters: {
      bundleName: 'gateway',
      bundleVersion: '2.0',
      deploymentElements: [
        {
          name: 'firmware',
          version: '2.0',
          type: 'FIRMWARE',
          downloadUrl: 'http://127.0.0.1/firmware.bin',
          path: '/firmware.bin',
          order: 1,
          operation: 'INSTALL',
        },
      ],
    },
    active: true,
    target: { append: { tags: [tag] } },
    ...request,
  }
}

/** Creates a job and answers it as it was created. */
export async function createJob(client: Client, request: Record<string, unknown>): Promise<JobView> {
  const { status, body } = await client.call<JobView>('POST', '/north/v80/operation/jobs', { job: { request } })
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}

export async function readJob(client: Client, job: string): Promise<JobView> {
  const { status, body } = await client.call<JobView>('GET', `/north/v80/operation/jobs/${job}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

/** A job once it has ended, told by its events. */
export async function jobEnded(client: Client, job: string): Promise<JobView> {
  const path = `/north/v80/operation/jobs/${job}/events?operations=false`
  const events = await readEvents(`${client.url}${path}`, { 'x-apikey': client.apiKey })
  expect(events.status).toBe(200)
  await events.until(({ event, data }) => {
    const { summary } = data as { summary?: JobSummaryView }
    return event === 'job' && summary !== undefined && isFinalStatus(summary.status)
  })
  events.breakOff()
  return await readJob(client, job)
}

const isFinalStatus = (status: string) => status.startsWith('FINISHED') || /^(TIMEOUT_)?CANCELLED$/.test(status)

/** Every operation of a job, page by page. */
export async function readOperations(client: Client, job: string, size = 1_000): Promise<OperationView[]> {
  const operations: OperationView[] = []
  for (let page = 1, of = 1; page <= of; page += 1) {
    const { status, body } = await client.call<{ page: { of: number }; operations: OperationView[] } | undefined>(
      'GET',
      `/north/v80/operation/jobs/${job}/operations?start=${page}&size=${size}`,
    )
    if (status === 204 || !body) break
    operations.push(...body.operations)
    of = body.page.of
  }
  return operations
}

/** The counters of a summary, without the words beside them. */
export function countersOf({ report }: JobView): Counters {
  const { total, inProgress, finished, finishedOutOfTime } = report.summary
  return { total, inProgress, finished, finishedOutOfTime }
}

/** The counters as the operations themselves give them. */
export function recount(operations: readonly OperationView[]): Counters {
  const of = (...kinds: string[]) => operations.filter(operation => kinds.includes(kindOf(operation))).length
  const cancelled = {
    byUser: of('CANCELLED CANCELLED'),
    byEngine: of('CANCELLED CANCELLED_INTERNAL', 'TIMEOUT_CANCELLED TIMEOUT_CANCELLED'),
    byTimeout: of('TIMEOUT_CANCELLED ERROR_TIMEOUT'),
    byExternalTimeout: 0,
    byExternal: 0,
    byAlreadyInProgress: of('CANCELLED ALREADY_IN_PROGRESS'),
  }
  const cancelledTotal = Object.values(cancelled).reduce((sum, count) => sum + count)
  const inProgress = {
    scheduled: of('PENDING'),
    pendingExecution: of('QUEUED', 'WAITING_FOR_ACK'),
    waitingForConnection: of('WAITING_FOR_CONNECTION'),
    started: of('IN_PROGRESS'),
  }
  const [successful, error] = [of('FINISHED successful'), of('FINISHED error')]
  const late = { successful: of('FINISHED_OUT_OF_TIME successful'), error: of('FINISHED_OUT_OF_TIME error') }
  return {
    total: operations.length,
    inProgress: { total: Object.values(inProgress).reduce((sum, count) => sum + count), ...inProgress },
    finished: {
      total: successful + error + cancelledTotal,
      successful,
      error,
      cancelled: { total: cancelledTotal, ...cancelled },
    },
    finishedOutOfTime: { total: late.successful + late.error, ...late },
  }
}

function kindOf({ status, result }: OperationView): string {
  if (status === 'NOT_ALLOWED') return 'FINISHED error'
  if (status === 'FINISHED' || status === 'FINISHED_OUT_OF_TIME') {
    return `${status} ${result === 'SUCCESSFUL' || result === 'PARTIAL_SUCCESS' ? 'successful' : 'error'}`
  }
  return status === 'CANCELLED' || status === 'TIMEOUT_CANCELLED' ? `${status} ${result}` : status
}
