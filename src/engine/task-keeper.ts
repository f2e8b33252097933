/**
 * Follows the jobs that tasks wait with: once one has started or was cancelled it counts, and the next is made; one that was missed in an
 * outage moves on; a task with nothing more to come is finished. Refuses to start jobs.
 */
import { isUsedUp, missed, nextOccurrence } from '../domain/recurrence.ts'
import type { Database, Transaction } from '../store/database.ts'
import { lockJobs, readStoredJob, type StoredJob } from '../store/jobs.ts'
import {
  dueTasks,
  lockTasks,
  nextTaskDueAt,
  openJobsOf,
  readTaskWaitingWith,
  removeWaitingJob,
  type TaskRow,
  updateTask,
} from '../store/tasks.ts'
import { oneByOne } from './one-by-one.ts'
import { placeWaitingJob, taskScheduleOf } from './task-occurrences.ts'
import { decideTaskOrRefuse } from './tasks.ts'

/** Read at a time. */
const TASKS_AT_ONCE = 100

export interface TaskKeeperParts {
  readonly database: Database
  readonly nextNumber: () => bigint
  /** called where a task has moved: one whose job is still being started, or whose last job still runs, has not */
  readonly onCommit: () => void
  /** since when somebody has lived without a break: what has come to its time since then is in hand, however long that takes */
  readonly livedSince: (now: Date) => Date
}

/**
 * One turn: every task that has something to follow, each in a transaction of its own, so that one that fails holds up no other; answers
 * when the next has.
 */
export function createTaskKeeping({
  database,
  nextNumber,
  onCommit,
  livedSince,
}: TaskKeeperParts): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  /** Follows a task; answers whether it has moved. */
  async function follow(tx: Transaction, number: bigint, now: Date): Promise<boolean> {
    const [task] = await lockTasks(tx, [number])
    if (!task) return false
    if (task.state === 'CANCELLING') {
      if ((await openJobsOf(tx, [task.task])).length > 0) return false
      task.state = decideTaskOrRefuse(task.state, 'runningEnded')
      await updateTask(tx, task)
      return true
    }
    if (task.state !== 'ACTIVE' && task.state !== 'INACTIVE') return false
    const followed = task.waitingJob !== null && (await followWaiting(tx, task, now))
    const isOver =
      task.waitingJob === null &&
      task.stopAt !== null &&
      task.stopAt <= now &&
      (await openJobsOf(tx, [task.task])).length === 0
    if (isOver) task.state = decideTaskOrRefuse(task.state, 'exhausted')
    if (followed || isOver) await updateTask(tx, task)
    return followed || isOver
  }

  async function followWaiting(tx: Transaction, task: TaskRow, now: Date): Promise<boolean> {
    const occurrence = task.waitingAt!.getTime()
    const schedule = taskScheduleOf(task)
    const due = missed(schedule, occurrence, now.getTime())
    const isInHand = due.run || task.waitingAt! >= livedSince(now)
    // Held back and with none to come after it, it waits until it is let go, or the task is over.
    const isOnlyOne = schedule.repeating === null && !isUsedUp(schedule, task.executions, now.getTime())
    const stays = (job: StoredJob | undefined) =>
      job?.status === 'SCHEDULED' ? isInHand : job?.status === 'IDLE' && (isOnlyOne || occurrence > now.getTime())
    // Looked at before it is held: at this very instant it is resolved and started, by who leaves to others what they hold.
    if (stays(await readStoredJob(tx, task.waitingJob!))) return false
    const [job] = await lockJobs(tx, [task.waitingJob!])
    if (stays(job)) return false
    if (!job || (job.status !== 'SCHEDULED' && job.status !== 'IDLE')) {
      task.executions += 1
      const next = nextOccurrence(schedule, occurrence, false)
      const late = next === null ? null : missed(schedule, next, now.getTime())
      // Where this one took longer than a period to start, what passed meanwhile is not made up for one by one.
      task.skipped += late?.skipped ?? 0
      await placeWaitingJob(tx, task, late?.skipped ? late.nextAt : next, nextNumber(), now)
      return true
    }
    // It was held back, or missed in an outage for longer than a period: the occurrence passes, the job keeps its id for the next one.
    await removeWaitingJob(tx, job.job)
    task.skipped += Math.max(1, due.skipped)
    await placeWaitingJob(tx, task, due.nextAt, job.job, now)
    return true
  }

  async function allDue(now: Date): Promise<bigint[]> {
    const all: bigint[] = []
    for (;;) {
      const due = await dueTasks(database, now, all.at(-1) ?? 0n, TASKS_AT_ONCE)
      all.push(...due)
      if (due.length < TASKS_AT_ONCE) return all
    }
  }

  return async (now, signal) => {
    let moved = false
    try {
      await oneByOne(await allDue(now), signal, async task => {
        if (await database.transaction(tx => follow(tx, task, now))) moved = true
      })
    } finally {
      if (moved) onCommit()
    }
    return signal.aborted ? now : await nextTaskDueAt(database, now)
  }
}

/**
 * Whether the job that a task waits with was missed for longer than a period, in an outage: then the keeper moves it on. One that was
 * itself given an earlier start is not missed.
 */
export async function isMissedByTask(tx: Transaction, job: StoredJob, now: Date, livedSince: Date): Promise<boolean> {
  const task = await readTaskWaitingWith(tx, job.job)
  if (task === undefined || task.waitingAt! > now || task.waitingAt! >= livedSince) return false
  return !missed(taskScheduleOf(task), task.waitingAt!.getTime(), now.getTime()).run
}
