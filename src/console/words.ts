/** How the words of the interface are shown: in which order, in which colour, with which short text. The words themselves stay as they are. */
import type { JobSummaryView, JobView } from '../contract/client/client.ts'
import { FINAL_JOB_STATUSES } from '../contract/words.ts'

/** Families of colour; each has its variable `--tone-…` in both schemes. */
export type Tone =
  | 'good'
  | 'bad'
  | 'timeout'
  | 'cancelled'
  | 'late'
  | 'running'
  | 'sent'
  | 'waiting'
  | 'scheduled'
  | 'refused'
  | 'quiet'

const STATUS_TONES: Readonly<Record<string, Tone>> = {
  IDLE: 'quiet',
  SCHEDULED: 'scheduled',
  PENDING: 'scheduled',
  IN_PROGRESS: 'running',
  QUEUED: 'sent',
  WAITING_FOR_ACK: 'sent',
  WAITING_FOR_CONNECTION: 'waiting',
  PAUSED: 'waiting',
  FINISHED: 'good',
  FINISHED_WITH_ERRORS: 'bad',
  FINISHED_OUT_OF_TIME: 'late',
  CANCELLING_BY_USER: 'cancelled',
  CANCELLING_BY_ENGINE: 'timeout',
  CANCELLING: 'cancelled',
  CANCELLED: 'cancelled',
  TIMEOUT_CANCELLED: 'timeout',
  NOT_ALLOWED: 'bad',
  ACTIVE: 'running',
  INACTIVE: 'quiet',
  SUCCESSFUL: 'good',
  PARTIAL_SUCCESS: 'good',
  OPERATION_PENDING: 'scheduled',
  ERROR: 'bad',
  SKIPPED: 'quiet',
  NOT_EXECUTED: 'quiet',
  ERROR_TIMEOUT: 'timeout',
  CANCELLED_INTERNAL: 'cancelled',
  OPEN: 'running',
  DELIVERED: 'good',
  GIVEN_UP: 'bad',
}

/** The tone of a status, state or result; what is not named is a failure's. */
export const toneOf = (word: string): Tone => STATUS_TONES[word] ?? 'bad'

/** The tone of an operation: FINISHED tells of the course alone, whether it went well is its result. */
export const toneOfOperation = (status: string, result: string): Tone => toneOf(status === 'FINISHED' ? result : status)

/** A word of the interface for reading: `FINISHED_WITH_ERRORS` is Finished with errors. */
export function readable(word: string): string {
  const text = word.replaceAll('_', ' ').toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** One part of the bar of all entities. */
export interface Share {
  readonly key: string
  readonly label: string
  readonly tone: Tone
  readonly count: number
  /** of a group, such as cancelled by its causes */
  readonly group: 'finished' | 'cancelled' | 'late' | 'open' | 'refused'
}

type Refused = readonly string[] | { readonly count: number }

/** How many are told in a list of refused ids, which is cut where it is long. */
export const refusedCount = (refused: Refused | undefined): number =>
  refused === undefined ? 0 : 'count' in refused ? refused.count : refused.length

/** All entities that a job was asked for, by what became of them, in the order in which the bar shows them. */
export function sharesOf({ summary, target = {} }: JobView['report']): Share[] {
  const { inProgress, finished, finishedOutOfTime } = summary
  const { cancelled } = finished
  const share = (key: string, label: string, tone: Tone, count: number, group: Share['group']): Share => ({
    key,
    label,
    tone,
    count,
    group,
  })
  return [
    share('successful', 'Successful', 'good', finished.successful, 'finished'),
    share('error', 'Failed', 'bad', finished.error, 'finished'),
    share('byTimeout', 'Cancelled by timeout', 'timeout', cancelled.byTimeout, 'cancelled'),
    share('byUser', 'Cancelled by user', 'cancelled', cancelled.byUser, 'cancelled'),
    share('byEngine', 'Cancelled by engine', 'cancelled', cancelled.byEngine, 'cancelled'),
    share('byExternalTimeout', 'Cancelled by external timeout', 'timeout', cancelled.byExternalTimeout, 'cancelled'),
    share('byExternal', 'Cancelled externally', 'cancelled', cancelled.byExternal, 'cancelled'),
    share('byAlreadyInProgress', 'Already in progress', 'cancelled', cancelled.byAlreadyInProgress, 'cancelled'),
    share('ootSuccessful', 'Late, successful', 'late', finishedOutOfTime.successful, 'late'),
    share('ootError', 'Late, failed', 'late', finishedOutOfTime.error, 'late'),
    share('started', 'Started', 'running', inProgress.started, 'open'),
    share('pendingExecution', 'Pending execution', 'sent', inProgress.pendingExecution, 'open'),
    share('waitingForConnection', 'Waiting for connection', 'waiting', inProgress.waitingForConnection, 'open'),
    share('scheduled', 'Scheduled', 'scheduled', inProgress.scheduled, 'open'),
    share('notProvisioned', 'Refused: not provisioned', 'refused', refusedCount(target.notProvisioned), 'refused'),
    share('notAllowed', 'Refused: not allowed', 'refused', refusedCount(target.notAllowed), 'refused'),
    share('duplicated', 'Refused: duplicated', 'refused', refusedCount(target.duplicated), 'refused'),
  ]
}

/** Whether nothing will happen to the job any more. */
export const isFinal = (status: string): boolean => FINAL_JOB_STATUSES.some(each => each === status)

/** What of a job did not succeed: failed, cancelled, or late. */
export const unsuccessful = ({ finished, finishedOutOfTime }: JobSummaryView): number =>
  finished.error + finished.cancelled.total + finishedOutOfTime.error
