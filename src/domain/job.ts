/**
 * The life of a job: one table of rows, and what a job is made of. Refuses to know operations one by one, clocks and databases.
 * Serves: Job request, Job as read, Job status, Job transitions.
 */
import type { OperationResult } from './operation.ts'

/** Serves: Job status. */
export const JOB_STATUSES = [
  'IDLE',
  'SCHEDULED',
  'IN_PROGRESS',
  'PAUSED',
  'FINISHED',
  'FINISHED_WITH_ERRORS',
  'CANCELLING_BY_USER',
  'CANCELLING_BY_ENGINE',
  'CANCELLED',
  'TIMEOUT_CANCELLED',
] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

/** Statuses that nothing leaves. */
export const FINAL_JOB_STATUSES = ['FINISHED', 'FINISHED_WITH_ERRORS', 'CANCELLED', 'TIMEOUT_CANCELLED'] as const

const CANCELLING: readonly JobStatus[] = ['CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE']

/** Whether a job is being cancelled: nothing leads its operations back to PENDING. */
export const isCancelling = (status: JobStatus): boolean => CANCELLING.includes(status)

/** What can happen to a job, named before the table is read. */
export const JOB_EVENTS = [
  'activateLater',
  'activateNow',
  'deactivate',
  'change',
  'startReached',
  'stopReached',
  'userCancel',
  'allSuccessful',
  'allEnded',
] as const
export type JobEvent = (typeof JOB_EVENTS)[number]

/** What the engine carries out, in the transaction of the transition. */
export type JobEffect =
  /** dates of activation and start are set anew */
  | 'activate'
  | 'start'
  /** the gate is closed or opened: nothing is launched while it is closed */
  | 'closeGate'
  | 'openGate'
  /** every open operation is cancelled, in batches */
  | 'cancelOperations'
  /** the end is dated and, by callback, told */
  | 'end'

interface JobRow {
  readonly from: JobStatus
  readonly event: JobEvent
  readonly to: JobStatus | 'refused'
  readonly effects: readonly JobEffect[]
}

const row = (
  from: JobStatus | readonly JobStatus[],
  event: JobEvent,
  to: JobStatus | 'same' | 'refused',
  effects: readonly JobEffect[] = [],
): JobRow[] =>
  (typeof from === 'string' ? [from] : from).map(status => ({
    from: status,
    event,
    to: to === 'same' ? status : to,
    effects,
  }))

/** The lifecycle. `refused` is answered to the client as a refused transition. */
export const JOB_LIFECYCLE: readonly JobRow[] = [
  ...row('IDLE', 'activateLater', 'SCHEDULED', ['activate']),
  ...row('IDLE', 'activateNow', 'IN_PROGRESS', ['activate', 'start']),
  ...row(['SCHEDULED', 'IN_PROGRESS'], 'activateNow', 'same'),
  ...row('PAUSED', 'activateNow', 'IN_PROGRESS', ['openGate']),
  ...row('SCHEDULED', 'deactivate', 'IDLE'),
  ...row('IN_PROGRESS', 'deactivate', 'PAUSED', ['closeGate']),
  ...row(['IDLE', 'PAUSED'], 'deactivate', 'same'),
  ...row('IDLE', 'change', 'IDLE'),
  ...row(['SCHEDULED', 'IN_PROGRESS', 'PAUSED'], 'change', 'refused'),

  ...row('SCHEDULED', 'startReached', 'IN_PROGRESS', ['start']),
  ...row(['IN_PROGRESS', 'PAUSED'], 'stopReached', 'CANCELLING_BY_ENGINE', ['closeGate', 'cancelOperations']),
  ...row(['IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED'], 'userCancel', 'CANCELLING_BY_USER', [
    'closeGate',
    'cancelOperations',
  ]),
  ...row(['IN_PROGRESS', 'PAUSED'], 'allSuccessful', 'FINISHED', ['end']),
  ...row(['IN_PROGRESS', 'PAUSED'], 'allEnded', 'FINISHED_WITH_ERRORS', ['end']),

  ...row(CANCELLING, 'userCancel', 'same'),
  ...row(CANCELLING, 'activateNow', 'refused'),
  ...row(CANCELLING, 'deactivate', 'refused'),
  ...row(CANCELLING, 'change', 'refused'),
  ...row('CANCELLING_BY_USER', 'allEnded', 'CANCELLED', ['end']),
  ...row('CANCELLING_BY_USER', 'allSuccessful', 'CANCELLED', ['end']),
  ...row('CANCELLING_BY_ENGINE', 'allEnded', 'TIMEOUT_CANCELLED', ['end']),
  ...row('CANCELLING_BY_ENGINE', 'allSuccessful', 'TIMEOUT_CANCELLED', ['end']),

  ...row(FINAL_JOB_STATUSES, 'userCancel', 'refused'),
  ...row(FINAL_JOB_STATUSES, 'activateNow', 'refused'),
  ...row(FINAL_JOB_STATUSES, 'deactivate', 'refused'),
  ...row(FINAL_JOB_STATUSES, 'change', 'refused'),
]

const ROWS: ReadonlyMap<string, JobRow> = new Map(JOB_LIFECYCLE.map(entry => [`${entry.from} ${entry.event}`, entry]))

/** What a job becomes, and what the engine is to do about it. */
export interface JobDecision {
  readonly to: JobStatus | 'refused'
  readonly effects: readonly JobEffect[]
}

/** The row for an event in a status. A pair without a row is a fault of the program, and throws. */
export function decideJob(status: JobStatus, event: JobEvent): JobDecision {
  const entry = ROWS.get(`${status} ${event}`)
  if (!entry) throw new Error(`no lifecycle row for ${event} in ${status}`)
  return { to: entry.to, effects: entry.effects }
}

/** An instant in ISO 8601 UTC, or a delay in milliseconds. Serves: Schedule (job). */
export type ScheduleMoment = { readonly date: string } | { readonly delayed: number }

/** When a job runs and when it gives up, as it reads back. Serves: Schedule (job). */
export interface JobSchedule {
  readonly start?: ScheduleMoment
  readonly stop?: ScheduleMoment
  /** in the form in which it was asked, already found valid */
  readonly window?: unknown
  readonly scattering?: unknown
}

/** What an inline filter is; its grammar is the filter's own file. */
export type FilterExpression = Readonly<Record<string, unknown>>

/** An entity of a list, with parameters of its own in place of the request's; without any it runs with these. */
export interface EntityWithParameters {
  readonly id: string
  readonly parameters?: Record<string, unknown>
}

/** Which entities a job runs on, as it reads back. Serves: Target. */
export interface TargetSelection {
  readonly entities?: readonly string[]
  readonly entitiesWithParameters?: readonly EntityWithParameters[]
  readonly tags?: readonly string[]
  readonly filter?: FilterExpression
}

/** `filter` directly under `target` means the same as in `append`. */
export interface JobTarget {
  readonly append?: TargetSelection
  readonly remove?: Pick<TargetSelection, 'entities' | 'tags'>
  readonly filter?: FilterExpression
}

/** Timeouts and retries of each operation, milliseconds. `ackTimeout` 0 is none. Serves: operationParameters. */
export interface OperationParameters {
  readonly ackTimeout: number
  readonly timeout: number
  readonly retries: number
  readonly retriesDelay: number
  readonly retryResultList: readonly OperationResult[]
}

/** A job request, normalised: defaults filled in, numbers numbers, dates UTC. Serves: Job request. */
export interface JobRequest {
  readonly name: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly target: JobTarget
  /** restricts a filter, or a tag, to one entity type */
  readonly resourceType?: string
  readonly active: boolean
  readonly schedule: JobSchedule
  readonly operationParameters: OperationParameters
  readonly notify: boolean
  /** empty: no notifications */
  readonly callback: string
  readonly userNotes?: string
}

/** What PUT may change. `active` is applied last, in the same transaction. Serves: Rules for PUT. */
export interface JobChange {
  readonly active?: boolean
  readonly notify?: boolean
  readonly callback?: string
  readonly userNotes?: string
  readonly schedule?: Pick<JobSchedule, 'start' | 'stop'>
  readonly target?: { readonly append?: TargetSelection; readonly remove?: Pick<TargetSelection, 'entities' | 'tags'> }
}

/** Ids that a target asked for and the job refused, by why; beyond 1,000 ids a kind, the first 1,000 and the count. */
export interface TargetReport {
  readonly notProvisioned?: RefusedIds
  readonly notAllowed?: RefusedIds
  readonly duplicated?: RefusedIds
}
export type RefusedIds = readonly string[] | { readonly count: number; readonly first: readonly string[] }
