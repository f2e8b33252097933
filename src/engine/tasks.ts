/**
 * The use cases of tasks: create, change, cancel. The next job of a task is made at once and waits; changes reach only what has not
 * started. Refuses to start jobs. Serves: Task, Endpoints (Tasks).
 */
import { randomUUID } from 'node:crypto'
import type { Caller } from '../domain/caller.ts'
import { DroverError } from '../domain/errors.ts'
import { firstOccurrence, nextOccurrence } from '../domain/recurrence.ts'
import { decideTask, type TaskChange, type TaskEvent, type TaskRequest, type TaskState } from '../domain/task.ts'
import type { Database, Transaction } from '../store/database.ts'
import { keepTaskTrace } from '../store/job-traces.ts'
import { lockJobs, type StoredJob } from '../store/jobs.ts'
import { shareTypeNames } from '../store/operation-types.ts'
import {
  insertTask,
  lockTasks,
  openJobsOf,
  readTask,
  removeWaitingJob,
  type TaskRow,
  updateTask,
} from '../store/tasks.ts'
import { createJobJudging, type JobJudgingParts } from './job-judging.ts'
import { beginCancel } from './job-transitions.ts'
import { judgeJobDelays, placeWaitingJob, taskScheduleOf } from './task-occurrences.ts'

export interface TasksParts extends JobJudgingParts {
  readonly database: Database
  readonly now: () => Date
  readonly nextNumber: () => bigint
  readonly onCommit: () => void
}

export interface Tasks {
  /**
   * Creates a task and its first waiting job. Throws a DroverError for everything a client can mend. `at` is the instant at which
   * the request was read: a start that was left out is that one, and must not be past already. `trace`: the `traceparent` of the
   * request, where it is recorded, to which those of the runs are linked.
   */
  create(caller: Caller, asked: TaskRequest, at?: Date, trace?: string): Promise<TaskRow>
  /** Changes what comes, as read `at` an instant: the waiting job moves, its id kept; running ones stay as they are. */
  change(caller: Caller, id: string, change: TaskChange, at?: Date, trace?: string): Promise<TaskRow>
  /** Cancels a task: the waiting job goes as if never made, running ones are cancelled. */
  cancel(caller: Caller, id: string): Promise<TaskRow>
}

/** The state an event leads to; throws where the lifecycle refuses. */
export function decideTaskOrRefuse(state: TaskState, event: TaskEvent): TaskState {
  const to = decideTask(state, event)
  if (to === 'refused') throw new DroverError('taskTransition')
  return to
}

export function createTasks(parts: TasksParts): Tasks {
  const { database, now, nextNumber, onCommit } = parts
  const { executable, judged } = createJobJudging(parts, 'task.job.request')

  async function locked(tx: Transaction, caller: Caller, id: string): Promise<TaskRow> {
    const found = await readTask(tx, caller.organization, id)
    const [task] = await lockTasks(tx, found ? [found.task] : [])
    if (!task) throw new DroverError('unknown', [{ name: 'taskId', value: id }])
    return task
  }

  /** A new schedule moves the waiting job; anything else leaves it at its occurrence, and held back where the user did that. */
  async function replaceWaitingJob(
    tx: Transaction,
    task: TaskRow,
    { moves, switches }: { readonly moves: boolean; readonly switches: boolean },
    at: Date,
  ): Promise<void> {
    const schedule = taskScheduleOf(task)
    const first = () => firstOccurrence(schedule, at.getTime())
    const waiting = await waitingJobOf(tx, task)
    if (task.waitingJob !== null && !waiting) {
      // It has just started: that is one execution, and the change is for the next.
      task.executions += 1
      const next = moves ? first() : nextOccurrence(schedule, task.waitingAt!.getTime(), false)
      return await placeWaitingJob(tx, task, next, nextNumber(), at)
    }
    if (waiting) await removeWaitingJob(tx, waiting.job)
    const occurrence = moves ? first() : (task.waitingAt?.getTime() ?? first())
    const isHeld = waiting?.status === 'IDLE' && !switches
    await placeWaitingJob(tx, task, occurrence, waiting?.job ?? nextNumber(), at, isHeld)
  }

  return {
    async create(caller, asked, at = now(), trace) {
      const task = await database.transaction(async tx => {
        await shareTypeNames(tx, caller.organization)
        const made: TaskRow = {
          task: nextNumber(),
          organization: caller.organization,
          id: asked.id ?? randomUUID(),
          name: asked.name ?? null,
          description: asked.description ?? null,
          userEmail: caller.email,
          userProfile: caller.profile,
          active: asked.active,
          state: asked.active ? 'ACTIVE' : 'INACTIVE',
          schedule: asked.schedule,
          request: await judged(tx, caller, await executable(tx, caller, asked.request.name), asked.request),
          executions: 0,
          skipped: 0,
          waitingJob: null,
          waitingAt: null,
          stopAt: null,
          createdAt: at,
        }
        judgeJobDelays(made)
        if (!(await insertTask(tx, made))) {
          throw new DroverError('duplicated', [{ name: 'task.id', value: made.id }])
        }
        await placeWaitingJob(tx, made, firstOccurrence(taskScheduleOf(made), at.getTime()), nextNumber(), at)
        await updateTask(tx, made)
        if (trace !== undefined) await keepTaskTrace(tx, made.task, trace)
        return made
      })
      onCommit()
      return task
    },

    async change(caller, id, { active, schedule, request, ...words }, at = now(), trace) {
      const task = await database.transaction(async tx => {
        const found = await locked(tx, caller, id)
        // Once the task is locked: whoever takes a name away locks the tasks that bear it first.
        if (request) await shareTypeNames(tx, caller.organization)
        found.state = decideTaskOrRefuse(
          found.state,
          active === undefined ? 'change' : active ? 'activate' : 'deactivate',
        )
        Object.assign(found, words)
        if (request || active || schedule !== undefined) {
          // Whoever has it run, or says when, runs it, whoever made it.
          const asked = request?.(found.request) ?? found.request
          const type = await executable(tx, caller, asked.name)
          if (request) found.request = await judged(tx, caller, type, asked)
        }
        if (schedule !== undefined) found.schedule = schedule
        const switches = active !== undefined && active !== found.active
        if (active !== undefined) found.active = active
        judgeJobDelays(found)
        // Words are the task's own: its waiting job has none of them.
        if (switches || schedule !== undefined || request) {
          await replaceWaitingJob(tx, found, { moves: schedule !== undefined, switches }, at)
        }
        await updateTask(tx, found)
        if (trace !== undefined) await keepTaskTrace(tx, found.task, trace)
        return found
      })
      onCommit()
      return task
    },

    async cancel(caller, id) {
      const task = await database.transaction(async tx => {
        const found = await locked(tx, caller, id)
        await cancelTask(tx, found)
        return found
      })
      onCommit()
      return task
    },
  }
}

/** The job that a locked task waits with, locked too; undefined where it waits with none, or that has started or ended since. */
async function waitingJobOf(tx: Transaction, task: TaskRow): Promise<StoredJob | undefined> {
  const [job] = task.waitingJob === null ? [] : await lockJobs(tx, [task.waitingJob])
  return job?.status === 'SCHEDULED' || job?.status === 'IDLE' ? job : undefined
}

/** Cancels a locked task. */
export async function cancelTask(tx: Transaction, task: TaskRow): Promise<void> {
  // Refused before anything is touched.
  decideTaskOrRefuse(task.state, 'cancel')
  const waiting = await waitingJobOf(tx, task)
  if (waiting) await removeWaitingJob(tx, waiting.job)
  task.waitingJob = null
  task.waitingAt = null
  const running = await lockJobs(tx, await openJobsOf(tx, [task.task]))
  for (const job of running) await beginCancel(tx, job, 'userCancel')
  task.state = decideTaskOrRefuse(task.state, running.length > 0 ? 'cancelRunning' : 'cancel')
  await updateTask(tx, task)
}
