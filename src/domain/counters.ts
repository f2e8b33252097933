/**
 * What a job's counters count. Every operation is in exactly one counter; totals are sums, never stored.
 * Refuses to know how counters are kept. Serves: Job as read (`report.summary`).
 */
import type { OperationResult, OperationStatus } from './operation.ts'

/** The counters, named as the columns that keep them. */
export const COUNTERS = [
  'scheduled',
  'pending_execution',
  'waiting_for_connection',
  'started',
  'successful',
  'error',
  'by_user',
  'by_engine',
  'by_timeout',
  'by_external_timeout',
  'by_external',
  'by_already_in_progress',
  'oot_successful',
  'oot_error',
] as const

export type Counter = (typeof COUNTERS)[number]

/** How many operations are in each counter. */
export type Counters = Record<Counter, number>

/** A fresh set of counters, all zero. */
export function noCounters(): Counters {
  return Object.fromEntries(COUNTERS.map(counter => [counter, 0])) as Counters
}

const OPEN_COUNTERS: Partial<Record<OperationStatus, Counter>> = {
  PENDING: 'scheduled',
  QUEUED: 'pending_execution',
  WAITING_FOR_ACK: 'pending_execution',
  WAITING_FOR_CONNECTION: 'waiting_for_connection',
  IN_PROGRESS: 'started',
}

/** The counter of an open operation. */
export function openCounter(status: OperationStatus): Counter {
  const counter = OPEN_COUNTERS[status]
  if (!counter) throw new Error(`${status} is final: its counter is kept with the operation`)
  return counter
}

const openCounters = new Set(Object.values(OPEN_COUNTERS))
/** The counters of what is over. */
export const FINAL_COUNTERS = COUNTERS.filter(counter => !openCounters.has(counter))

/** Of counters, or of changes of them: how many operations are over. */
export function endedOf(counters: Readonly<Counters>): number {
  return FINAL_COUNTERS.reduce((sum, counter) => sum + counters[counter], 0)
}

/** Whether a result counts as success. */
export function isSuccess(result: OperationResult): boolean {
  return result === 'SUCCESSFUL' || result === 'PARTIAL_SUCCESS'
}

/** Counters as clients read them. Serves: Job as read (`report.summary`). */
export interface Summary {
  total: number
  inProgress: {
    total: number
    scheduled: number
    pendingExecution: number
    waitingForConnection: number
    started: number
  }
  finished: {
    total: number
    successful: number
    error: number
    cancelled: {
      total: number
      byUser: number
      byEngine: number
      byTimeout: number
      byExternalTimeout: number
      byExternal: number
      byAlreadyInProgress: number
    }
  }
  finishedOutOfTime: { total: number; successful: number; error: number }
}

/** The counters with every total: `total = inProgress + finished + finishedOutOfTime`. */
export function summaryOf(counters: Readonly<Counters>): Summary {
  const open = counters.scheduled + counters.pending_execution + counters.waiting_for_connection + counters.started
  const cancelled =
    counters.by_user +
    counters.by_engine +
    counters.by_timeout +
    counters.by_external_timeout +
    counters.by_external +
    counters.by_already_in_progress
  const finished = counters.successful + counters.error + cancelled
  const outOfTime = counters.oot_successful + counters.oot_error
  return {
    total: open + finished + outOfTime,
    inProgress: {
      total: open,
      scheduled: counters.scheduled,
      pendingExecution: counters.pending_execution,
      waitingForConnection: counters.waiting_for_connection,
      started: counters.started,
    },
    finished: {
      total: finished,
      successful: counters.successful,
      error: counters.error,
      cancelled: {
        total: cancelled,
        byUser: counters.by_user,
        byEngine: counters.by_engine,
        byTimeout: counters.by_timeout,
        byExternalTimeout: counters.by_external_timeout,
        byExternal: counters.by_external,
        byAlreadyInProgress: counters.by_already_in_progress,
      },
    },
    finishedOutOfTime: { total: outOfTime, successful: counters.oot_successful, error: counters.oot_error },
  }
}
