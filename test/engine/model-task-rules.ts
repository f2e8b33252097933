/** What must hold of the tasks of the model test whenever all that is due has been done, reckoned anew from what was asked. */
import { isDeepStrictEqual } from 'node:util'
import type { JobRequest, JobStatus } from '../../src/domain/job.ts'
import type { TaskSchedule } from '../../src/domain/task-schedule.ts'
import type { Queryable } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import type { TaskRow } from '../../src/store/tasks.ts'
import type { TaskRhythm } from './model-tasks.ts'

/** A task as clients were told that it is. */
export interface TaskBook {
  readonly active: boolean
  readonly name: string | null
  readonly rhythm: TaskRhythm
  readonly schedule: TaskSchedule['source']
  readonly request: JobRequest
  /** an occurrence and how many had passed before it; null where it never waited */
  readonly from: { readonly at: number; readonly count: number } | null
  /** how often it had run when its rhythm was changed: fewer are owed no more */
  readonly ran: number
  readonly cancelled: boolean
}

type Standing = Pick<TaskRow, 'task' | 'id' | 'name' | 'active' | 'state' | 'schedule' | 'request'> &
  Pick<TaskRow, 'executions' | 'skipped' | 'waitingJob' | 'waitingAt'> & {
    readonly waitingStatus: JobStatus | null
    readonly waitingStartAt: Date | null
    readonly waitingRequest: JobRequest | null
    /** jobs of it but the one that waits, and those of them that have not ended */
    readonly jobs: number
    readonly open: number
  }

interface TaskJob {
  readonly job: bigint
  readonly id: string
  readonly request: JobRequest
}

export interface TaskRulesParts {
  readonly db: Queryable
  readonly organization: number
  readonly books: ReadonlyMap<string, TaskBook>
  /** with what each run began: remembered from one time to the next */
  readonly requests: Map<bigint, unknown>
  /** whether a client has held back or activated a job itself */
  readonly isTouched: (job: bigint) => boolean
}

/** What is wrong with tasks, in words. */
export async function wrongOfTasks(parts: TaskRulesParts, now: number): Promise<string[]> {
  const { db, organization, books, requests, isTouched } = parts
  const tasks = await db.query<Standing>(sql`
    select t.task, t.id, t.name, t.active, t.state, t.schedule, t.request, t.executions, t.skipped, t.waiting_job as "waitingJob",
           t.waiting_at as "waitingAt", w.status as "waitingStatus", w.start_at as "waitingStartAt",
           w.request as "waitingRequest",
           (select count(*)::int from job j where j.task = t.task and j.job is distinct from t.waiting_job) as jobs,
           (select count(*)::int from job j where j.task = t.task and j.job is distinct from t.waiting_job
               and j.finished_at is null) as open
      from task t left join job w on w.job = t.waiting_job where t.organization = ${organization}`)
  const runs = await db.query<TaskJob>(sql`
    select j.job, t.id, j.request from job j join task t using (task)
     where t.organization = ${organization} and j.job is distinct from t.waiting_job`)
  const ids = tasks.map(({ id }) => id)
  const lost = [...books.keys()].filter(id => !ids.includes(id)).map(id => `${id} is not there`)
  const wrong = tasks.flatMap(task => {
    const book = books.get(task.id)
    return (book ? wrongOf(task, book, isTouched, now) : ['was not asked for']).map(what => `${task.id} ${what}`)
  })
  const changed = runs.flatMap(({ job, id, request }) => {
    const { active: _, userNotes: __, ...own } = request
    // What runs keeps what it began with; a change is for what comes.
    const { active: ___, userNotes: ____, ...owed } = books.get(id)?.request ?? request
    const begun = requests.get(job) ?? owed
    requests.set(job, begun)
    return isDeepStrictEqual(own, begun) ? [] : [`${id} runs ${JSON.stringify(own)}, and not ${JSON.stringify(begun)}`]
  })
  return [...lost, ...wrong, ...changed]
}

function wrongOf(task: Standing, book: TaskBook, isTouched: TaskRulesParts['isTouched'], now: number): string[] {
  const { state, executions, open, jobs, waitingJob, waitingAt } = task
  const wrong: string[] = []
  if (task.name !== book.name || task.active !== book.active) wrong.push(`is ${task.name}, active ${task.active}`)
  if (!isDeepStrictEqual(task.schedule, book.schedule)) wrong.push(`has the schedule ${JSON.stringify(task.schedule)}`)
  if (!isDeepStrictEqual(task.request, book.request)) wrong.push(`has the request ${JSON.stringify(task.request)}`)
  if (book.cancelled !== (state === 'CANCELLED')) wrong.push(`is ${state} with ${open} jobs open`)
  if (state === 'CANCELLED' && (open > 0 || waitingJob !== null)) wrong.push('is over, and something of it is not')
  if (state === 'CANCELLED') return wrong

  const { startAt, everyMs, stopAt, mostRuns } = gridOf(book)
  if (executions > mostRuns) wrong.push(`ran ${executions} times of ${mostRuns}`)
  if (executions !== jobs) wrong.push(`counts ${executions} runs, and has ${jobs}`)
  const nextAt = Math.max(startAt, startAt + (Math.floor((now - startAt) / everyMs) + 1) * everyMs)
  const isUsedUp = executions >= mostRuns || nextAt >= stopAt
  if (waitingJob === null) {
    const isOver = open === 0 && (executions >= mostRuns || now >= stopAt)
    if (!isUsedUp) wrong.push('waits for nothing')
    if ((state === 'FINISHED') !== isOver) wrong.push(`is ${state}, after ${executions} runs and with ${open} open`)
    return wrong
  }
  if (state !== (book.active ? 'ACTIVE' : 'INACTIVE')) wrong.push(`is ${state}, and waits`)
  const status = book.active ? 'SCHEDULED' : 'IDLE'
  if (!isTouched(waitingJob) && task.waitingStatus !== status)
    wrong.push(`waits with a job that is ${task.waitingStatus}`)
  return [...wrong, ...wrongOfWait(task, waitingAt!.getTime(), book, now)]
}

/** What is wrong with the job that a task waits with, and with the occurrence for which. */
function wrongOfWait(task: Standing, at: number, book: TaskBook, now: number): string[] {
  const { startAt, everyMs, stopAt } = gridOf(book)
  const { waitingStatus, waitingStartAt, executions, skipped } = task
  const wrong: string[] = []
  if ((at - startAt) % everyMs !== 0 || at < startAt || at >= stopAt)
    wrong.push(`waits for ${new Date(at).toISOString()}`)
  if (waitingStatus !== 'SCHEDULED' && waitingStatus !== 'IDLE') wrong.push(`waits with a job that is ${waitingStatus}`)
  if (!isDeepStrictEqual({ ...task.waitingRequest, active: true }, { ...book.request, active: true })) {
    wrong.push(`waits with a job of ${JSON.stringify(task.waitingRequest)}`)
  }
  const { start } = book.request.schedule
  const delayMs = start && 'delayed' in start ? start.delayed : 0
  if (waitingStartAt?.getTime() !== at + delayMs) wrong.push('waits with a job that starts at another time')
  if (waitingStatus === 'IDLE' ? at <= now : at + delayMs <= now) wrong.push('is late')
  if (book.from && executions + skipped - book.from.count !== (at - book.from.at) / everyMs) {
    wrong.push(`ran ${executions} times and skipped ${skipped} until ${new Date(at).toISOString()}`)
  }
  return wrong
}

function gridOf({ schedule, rhythm, ran }: TaskBook) {
  const { start, stop } = schedule as { start: { date: string }; stop?: { date: string } | { executions: number } }
  return {
    startAt: Date.parse(start.date),
    everyMs: rhythm.everyS * 1_000,
    stopAt: stop && 'date' in stop ? Date.parse(stop.date) : Number.POSITIVE_INFINITY,
    mostRuns: stop && 'executions' in stop ? Math.max(stop.executions, ran) : Number.POSITIVE_INFINITY,
  }
}
