/**
 * Makes the job that waits for a task's next occurrence. Refuses to know whether an occurrence was missed.
 */
import type { Profile } from '../domain/caller.ts'
import type { Instant } from '../domain/instants.ts'
import type { JobRequest } from '../domain/job.ts'
import { isUsedUp, jobDelaysTooLong } from '../domain/recurrence.ts'
import { refusalOf } from '../domain/refusal.ts'
import { startAt } from '../domain/schedule.ts'
import { parseTaskSchedule, type TaskSchedule } from '../domain/task-schedule.ts'
import type { Transaction } from '../store/database.ts'
import { insertJob, type UnresolvedTarget } from '../store/jobs.ts'
import type { TaskRow } from '../store/tasks.ts'
import { unresolvedOf } from './job-targets.ts'
import { scheduleOf } from './job-transitions.ts'
import { newJob } from './jobs.ts'

/** The schedule of a stored task, which was found valid when it was asked. */
export function taskScheduleOf(task: Pick<TaskRow, 'schedule' | 'createdAt'>): TaskSchedule {
  const read = parseTaskSchedule(task.schedule, task.createdAt.getTime())
  if (!read.ok) throw new Error('a stored task has no valid schedule')
  return read.value
}

/** Refuses a job whose start or stop is not sooner than the next occurrence. Serves: Task. */
export function judgeJobDelays(task: Pick<TaskRow, 'schedule' | 'request' | 'createdAt'>): void {
  const problems = jobDelaysTooLong(taskScheduleOf(task), scheduleOf(task))
  if (problems.length > 0) throw refusalOf(problems)
}

/**
 * Has a task wait with a job for an occurrence, or for nothing where there is none left; the task is not written. The job is held back
 * where the task is, where its template says so, or where `isHeld`: whoever held back the one before.
 */
export async function placeWaitingJob(
  tx: Transaction,
  task: TaskRow,
  next: Instant | null,
  number: bigint,
  now: Date,
  isHeld = false,
): Promise<void> {
  const occurrence = isUsedUp(taskScheduleOf(task), task.executions, now.getTime()) ? null : next
  task.waitingJob = occurrence === null ? null : number
  task.waitingAt = occurrence === null ? null : new Date(occurrence)
  task.stopAt = occurrence === null ? endOf(task, now) : null
  if (occurrence === null) return
  const job = newJob(number, { email: task.userEmail, organization: task.organization }, task.request, task.task, now)
  const starts = startAt(scheduleOf(job), occurrence)
  const active = task.active && task.request.active && !isHeld
  await insertJob(tx, {
    ...job,
    request: { ...task.request, active },
    status: active ? 'SCHEDULED' : 'IDLE',
    unresolved: unresolvedTarget(task.request),
    activatedAt: active ? now : null,
    startAt: new Date(starts),
  })
}

/** The target of a task's job, lists included: it is judged when the job starts. */
function unresolvedTarget(request: JobRequest): UnresolvedTarget[] {
  const { append, filter } = request.target
  const selection = { ...(filter && { filter }), ...append }
  const { entities, entitiesWithParameters } = selection
  const listed =
    entities || entitiesWithParameters
      ? [{ listed: { ...(entities && { entities }), ...(entitiesWithParameters && { entitiesWithParameters }) } }]
      : []
  return [...listed, ...unresolvedOf(selection, request.resourceType)]
}

/** When a task that waits for nothing is over: at its stop, else now. */
function endOf(task: TaskRow, now: Date): Date {
  const { stop } = taskScheduleOf(task)
  return stop?.kind === 'date' ? new Date(Math.max(stop.at, now.getTime())) : now
}

/** Whose profile decides whether a task's job may run: the user's present one, else the one that made the task. */
export function decidingProfile(task: Pick<TaskRow, 'userProfile'>, current: Profile | undefined): Profile {
  return current ?? task.userProfile
}
