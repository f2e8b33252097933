/** Tasks as rows, and the jobs they made. Refuses to know when they are due. */

import type { Profile } from '../domain/caller.ts'
import type { JobRequest } from '../domain/job.ts'
import type { TaskState } from '../domain/task.ts'
import type { TaskSchedule } from '../domain/task-schedule.ts'
import type { Queryable } from './database.ts'
import { type JobRow, jobRowColumnsSql, jobRowFromSql } from './jobs.ts'
import { statement } from './statement.ts'
import { awaitRanking, takeBackOperations } from './targets.ts'

/** A task as stored. */
export interface TaskRow {
  task: bigint
  organization: number
  /** public id, unique in the organization */
  id: string
  name: string | null
  description: string | null
  userEmail: string
  userProfile: Profile
  active: boolean
  state: TaskState
  /** in the form in which it reads back */
  schedule: TaskSchedule['source']
  request: JobRequest
  /** jobs started or cancelled, and occurrences passed over */
  executions: number
  skipped: number
  /** the job made for the next occurrence, and that occurrence */
  waitingJob: bigint | null
  waitingAt: Date | null
  /** when the task looks at itself again although no job waits: its stop */
  stopAt: Date | null
  createdAt: Date
}

const columns = `task, organization, id, name, description, user_email as "userEmail", user_profile as "userProfile", active, state,
  schedule, request, executions, skipped, waiting_job as "waitingJob", waiting_at as "waitingAt", stop_at as "stopAt",
  created_at as "createdAt"`

const insert = statement<unknown, readonly unknown[]>(
  'tasks_insert',
  `insert into task (task, organization, id, name, description, user_email, user_profile, active, state, schedule, request,
                     executions, skipped, waiting_job, waiting_at, stop_at, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
   on conflict (organization, id) do nothing`,
)

/** Stores a new task; answers false where its id is taken. */
export async function insertTask(db: Queryable, task: TaskRow): Promise<boolean> {
  const made = await db.count(insert, [
    task.task,
    task.organization,
    task.id,
    task.name,
    task.description,
    task.userEmail,
    task.userProfile,
    task.active,
    task.state,
    JSON.stringify(task.schedule),
    task.request,
    task.executions,
    task.skipped,
    task.waitingJob,
    task.waitingAt,
    task.stopAt,
    task.createdAt,
  ])
  return made > 0
}

const update = statement<unknown, readonly unknown[]>(
  'tasks_update',
  `update task set name = $2, description = $3, active = $4, state = $5, schedule = $6, request = $7, executions = $8,
                   skipped = $9, waiting_job = $10, waiting_at = $11, stop_at = $12
    where task = $1`,
)

/** Writes a task that was locked by this transaction. */
export async function updateTask(db: Queryable, task: TaskRow): Promise<void> {
  await db.run(update, [
    task.task,
    task.name,
    task.description,
    task.active,
    task.state,
    JSON.stringify(task.schedule),
    task.request,
    task.executions,
    task.skipped,
    task.waitingJob,
    task.waitingAt,
    task.stopAt,
  ])
}

const lock = statement<TaskRow, [bigint[]]>(
  'tasks_lock',
  `select ${columns} from task where task = any($1::bigint[]) order by task for no key update`,
)

/** Locks tasks in order until the transaction ends. Always before their jobs. */
export function lockTasks(db: Queryable, tasks: readonly bigint[]): Promise<TaskRow[]> {
  return tasks.length === 0 ? Promise.resolve([]) : db.run(lock, [[...tasks]])
}

const active = statement<TaskRow, [number, number]>(
  'tasks_active',
  `select ${columns} from task where organization = $1 and state = 'ACTIVE' order by task limit $2`,
)

/** The active tasks of an organization, the oldest first. */
export function readActiveTasks(db: Queryable, organization: number, limit: number): Promise<TaskRow[]> {
  return db.run(active, [organization, limit])
}

const read = statement<TaskRow, [number, string]>(
  'tasks_read',
  `select ${columns} from task where organization = $1 and id = $2`,
)

/** One task of an organization by its public id, or undefined. */
export async function readTask(db: Queryable, organization: number, id: string): Promise<TaskRow | undefined> {
  return (await db.run(read, [organization, id]))[0]
}

const readMany = statement<TaskRow, [bigint[]]>(
  'tasks_read_many',
  `select ${columns} from task where task = any($1::bigint[])`,
)

/** Tasks in the order of their numbers as given. Whose they are, the caller has asked. */
export async function readTasks(db: Queryable, tasks: readonly bigint[]): Promise<TaskRow[]> {
  const rows = new Map((await db.run(readMany, [[...tasks]])).map(row => [row.task, row]))
  return tasks.flatMap(task => rows.get(task) ?? [])
}

const waitingWith = statement<TaskRow, [bigint]>(
  'tasks_waiting_with',
  `select ${columns} from task where task = (select task from job where job = $1) and waiting_job = $1`,
)

/** The task that waits with a job, or undefined where none does. */
export async function readTaskWaitingWith(db: Queryable, job: bigint): Promise<TaskRow | undefined> {
  return (await db.run(waitingWith, [job]))[0]
}

const taskOfJob = statement<TaskRow, [bigint]>(
  'tasks_task_of_job',
  `select ${columns} from task where task = (select task from job where job = $1)`,
)

/** The task that made a job, or undefined where none did. */
export async function readTaskOfJob(db: Queryable, job: bigint): Promise<TaskRow | undefined> {
  return (await db.run(taskOfJob, [job]))[0]
}

const openJobs = statement<{ job: bigint }, [bigint[]]>(
  'tasks_open_jobs',
  `select job from job
    where task = any($1::bigint[]) and status in ('IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE')
    order by job`,
)

/** The jobs of tasks that have not ended. */
export async function openJobsOf(db: Queryable, tasks: readonly bigint[]): Promise<bigint[]> {
  return tasks.length === 0 ? [] : (await db.run(openJobs, [[...tasks]])).map(row => row.job)
}

const removeDeltas = statement<unknown, [bigint]>('tasks_remove_deltas', 'delete from job_counter_delta where job = $1')
const removeJob = statement<unknown, [bigint]>(
  'tasks_remove_job',
  `with counter as (delete from job_counter where job = $1)
   delete from job where job = $1`,
)

/** Takes back a job that waits for its occurrence, as if it had never been made. */
export async function removeWaitingJob(db: Queryable, job: bigint): Promise<void> {
  // Its target may have been resolved already, where its start has come and it has not started.
  await awaitRanking(db, job)
  await takeBackOperations(db, job)
  // Whoever folds them just now is waited for: only the next statement sees a counter row that he has made.
  await db.run(removeDeltas, [job])
  await db.run(removeJob, [job])
}

const openJobSql = `exists (select from job o where o.task = t.task and o.status in
            ('IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE'))`

/** A job held back that no other comes after waits until it is let go, or its task is over: nothing is to be followed until then. */
const waitsForSomebodySql = `coalesce(j.status = 'IDLE' and t.schedule ->> 'repeating' is null
                             and coalesce((t.schedule #>> '{stop,date}')::timestamptz > $1, true), false)`

const due = statement<{ task: bigint }, [Date, bigint, number]>(
  'tasks_due',
  `select t.task from task t left join job j on j.job = t.waiting_job
    where t.task > $2
      and (t.state in ('ACTIVE', 'INACTIVE')
           and (t.waiting_job is null and t.stop_at <= $1 and not ${openJobSql}
                or t.waiting_job is not null and (j.job is null or j.status not in ('IDLE', 'SCHEDULED'))
                or t.waiting_at <= $1 and not ${waitsForSomebodySql})
           or t.state = 'CANCELLING' and not ${openJobSql})
    order by t.task limit $3`,
)

/**
 * Tasks after a number that may have something to follow: their waiting job has left its wait or its occurrence has come, their stop
 * has passed, or they are being cancelled, and no job of theirs is open any more.
 */
export async function dueTasks(db: Queryable, now: Date, after: bigint, limit: number): Promise<bigint[]> {
  return (await db.run(due, [now, after, limit])).map(row => row.task)
}

const nextDue = statement<{ dueAt: Date | null }, [Date]>(
  'tasks_next_due',
  `select min(case when waiting_job is null then stop_at else waiting_at end) as "dueAt" from task
    where state in ('ACTIVE', 'INACTIVE') and case when waiting_job is null then stop_at else waiting_at end > $1`,
)

/** When, after an instant, the next of them is due, or null. */
export async function nextTaskDueAt(db: Queryable, now: Date): Promise<Date | null> {
  return (await db.run(nextDue, [now]))[0]?.dueAt ?? null
}

const jobsOf = statement<JobRow, [bigint, number, number]>(
  'tasks_jobs',
  `select ${jobRowColumnsSql} from ${jobRowFromSql} where j.task = $1 order by j.job desc offset $2 limit $3`,
)
const countJobs = statement<{ count: number }, [bigint]>(
  'tasks_count_jobs',
  'select count(*)::int as count from job where task = $1',
)

/** Jobs that a task made, newest first, and how many there are. Serves: Endpoints (Tasks). */
export async function readJobsOfTask(
  db: Queryable,
  task: bigint,
  offset: number,
  limit: number,
): Promise<{ jobs: JobRow[]; count: number }> {
  const [counted] = await db.run(countJobs, [task])
  return { jobs: await db.run(jobsOf, [task, offset, limit]), count: counted?.count ?? 0 }
}

const ofType = statement<{ task: bigint }, [number, string]>(
  'tasks_of_type',
  `select task from task
    where organization = $1 and request ->> 'name' = $2 and state in ('ACTIVE', 'INACTIVE') order by task`,
)

/** Tasks under way that run an operation type. */
export async function tasksOfType(db: Queryable, organization: number, name: string): Promise<bigint[]> {
  return (await db.run(ofType, [organization, name])).map(row => row.task)
}

const userProfile = statement<{ profile: Profile }, [string, number]>(
  'tasks_user_profile',
  'select profile from users where email = $1 and organization = $2',
)

/** The profile that a task's user has now; undefined where the user is gone. */
export async function currentProfile(db: Queryable, email: string, organization: number): Promise<Profile | undefined> {
  return (await db.run(userProfile, [email, organization]))[0]?.profile
}
