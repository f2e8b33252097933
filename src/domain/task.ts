/**
 * The life of a task: one table of rows, and what a task is made of. Refuses to know calendars, jobs one by one and databases.
 * Serves: Task, Task state.
 */
import type { JobRequest } from './job.ts'
import type { TaskSchedule } from './task-schedule.ts'

/** Serves: Task state. */
export const TASK_STATES = ['ACTIVE', 'INACTIVE', 'FINISHED', 'CANCELLING', 'CANCELLED'] as const
export type TaskState = (typeof TASK_STATES)[number]

/** What can happen to a task, named before the table is read. */
export const TASK_EVENTS = [
  'activate',
  'deactivate',
  'change',
  'cancel',
  'cancelRunning',
  'runningEnded',
  'exhausted',
] as const
export type TaskEvent = (typeof TASK_EVENTS)[number]

interface TaskRow {
  readonly from: TaskState
  readonly event: TaskEvent
  readonly to: TaskState | 'refused'
}

const row = (from: TaskState | readonly TaskState[], event: TaskEvent, to: TaskState | 'same' | 'refused'): TaskRow[] =>
  (typeof from === 'string' ? [from] : from).map(state => ({ from: state, event, to: to === 'same' ? state : to }))

const RUNNING: readonly TaskState[] = ['ACTIVE', 'INACTIVE']
const ENDING: readonly TaskState[] = ['FINISHED', 'CANCELLING', 'CANCELLED']

/** The lifecycle. `refused` is answered to the client as a refused transition. */
export const TASK_LIFECYCLE: readonly TaskRow[] = [
  ...row(RUNNING, 'activate', 'ACTIVE'),
  ...row(RUNNING, 'deactivate', 'INACTIVE'),
  ...row(RUNNING, 'change', 'same'),
  ...row(RUNNING, 'cancel', 'CANCELLED'),
  ...row(RUNNING, 'cancelRunning', 'CANCELLING'),
  ...row(RUNNING, 'exhausted', 'FINISHED'),
  ...row('CANCELLING', 'runningEnded', 'CANCELLED'),
  ...row('CANCELLING', 'cancel', 'CANCELLED'),
  ...row('CANCELLING', 'cancelRunning', 'same'),
  ...row(ENDING, 'activate', 'refused'),
  ...row(ENDING, 'deactivate', 'refused'),
  ...row(ENDING, 'change', 'refused'),
  ...row(['FINISHED', 'CANCELLED'], 'cancel', 'refused'),
]

const ROWS: ReadonlyMap<string, TaskRow> = new Map(TASK_LIFECYCLE.map(entry => [`${entry.from} ${entry.event}`, entry]))

/** The row for an event in a state. A pair without a row is a fault of the program, and throws. */
export function decideTask(state: TaskState, event: TaskEvent): TaskState | 'refused' {
  const entry = ROWS.get(`${state} ${event}`)
  if (!entry) throw new Error(`no lifecycle row for ${event} in ${state}`)
  return entry.to
}

/** A task as asked: what is left out is undefined. `schedule` is in the form in which it reads back. Serves: Task. */
export interface TaskRequest {
  /** made by the service where the client gives none */
  readonly id?: string
  readonly name?: string
  readonly description?: string
  readonly active: boolean
  readonly schedule: TaskSchedule['source']
  readonly request: JobRequest
}

/** What PUT may change; `schedule` is replaced as a whole. */
export interface TaskChange {
  readonly name?: string
  readonly description?: string
  readonly active?: boolean
  readonly schedule?: TaskSchedule['source']
  /** the template after the change, of the one before; throws a DroverError where they do not fit */
  readonly request?: (before: JobRequest) => JobRequest
}
