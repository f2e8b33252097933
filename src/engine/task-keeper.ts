/**
 * Follows the jobs that tasks wait with: once one has started or was cancelled it counts, and the next is made; one that was missed
 * moves on; a task with nothing more to come is finished. Refuses to start jobs.
 */

import { missed, nextOccurrence } from '../domain/recurrence.ts'
import type { Database, Transaction } from '../store/database.ts'
import { lockJobs, type StoredJob } from '../store/jobs.ts'
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
import { placeWaitingJob, taskScheduleOf } from './task-occurrences.ts'
import { decideTaskOrRefuse } from './tasks.ts'

const TASKS_PER_TURN = 100

/** One turn: every task that has something to follow, each in a transaction of its own; answers when the next has. */
export function createTaskKeeping(
  database: Database,
  nextNumber: () => bigint,
  onCommit: () => void,
): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  async function follow(tx: Transaction, number: bigint, now: Date): Promise<void> {
    const [task] = await lockTasks(tx, [number])
    if (!task) return
    if (task.state === 'CANCELLING') {
      if ((await openJobsOf(tx, task.task)).length > 0) return
      task.state = decideTaskOrRefuse(task.state, 'runningEnded')
      return await updateTask(tx, task)
    }
    if (task.state !== 'ACTIVE' && task.state !== 'INACTIVE') return
    if (task.waitingJob !== null) await followWaiting(tx, task, now)
    if (
      task.waitingJob === null &&
      task.stopAt &&
      task.stopAt <= now &&
      (await openJobsOf(tx, task.task)).length === 0
    ) {
      task.state = decideTaskOrRefuse(task.state, 'exhausted')
    }
    await updateTask(tx, task)
  }

  async function followWaiting(tx: Transaction, task: TaskRow, now: Date): Promise<void> {
    const [job] = await lockJobs(tx, [task.waitingJob!])
    const occurrence = task.waitingAt!.getTime()
    const schedule = taskScheduleOf(task)
    if (!job || (job.status !== 'SCHEDULED' && job.status !== 'IDLE')) {
      task.executions += 1
      await placeWaitingJob(tx, task, nextOccurrence(schedule, occurrence, false), nextNumber(), now)
      return
    }
    const due = missed(schedule, occurrence, now.getTime())
    if (occurrence > now.getTime() || (due.run && job.status === 'SCHEDULED')) return
    // It was held back, or missed for longer than a period: the occurrence passes, the job keeps its id for the next one.
    await removeWaitingJob(tx, job.job)
    task.skipped += Math.max(1, due.skipped)
    await placeWaitingJob(tx, task, due.nextAt, job.job, now)
  }

  return async (now, signal) => {
    const due = await dueTasks(database, now, TASKS_PER_TURN)
    for (const task of due) {
      if (signal.aborted) return now
      await database.transaction(tx => follow(tx, task, now))
    }
    if (due.length > 0) onCommit()
    return due.length === TASKS_PER_TURN ? now : await nextTaskDueAt(database, now)
  }
}

/**
 * Whether the job that a task waits with was missed for longer than a period: then the keeper moves it on. One that was itself given an
 * earlier start is not missed.
 */
export async function isMissedByTask(tx: Transaction, job: StoredJob, now: Date): Promise<boolean> {
  const task = await readTaskWaitingWith(tx, job.job)
  if (task === undefined || task.waitingAt! > now) return false
  return !missed(taskScheduleOf(task), task.waitingAt!.getTime(), now.getTime()).run
}
