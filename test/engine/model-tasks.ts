/**
 * The commands about tasks of the model test, and what each must come to: how the task reads, with which job it waits, and how many
 * occurrences have passed. Refuses to know what becomes of the jobs.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../src/domain/caller.ts'
import { ERRORS, type ErrorName } from '../../src/domain/errors.ts'
import type { JobRequest } from '../../src/domain/job.ts'
import type { TaskChange, TaskState } from '../../src/domain/task.ts'
import { parseTaskSchedule, type TaskSchedule } from '../../src/domain/task-schedule.ts'
import { createTasks, type Tasks } from '../../src/engine/tasks.ts'
import type { Database } from '../../src/store/database.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import { readJob } from '../../src/store/jobs.ts'
import { openJobsOf, readTask, type TaskRow } from '../../src/store/tasks.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import type { ModelProcesses, Outcome } from './model-processes.ts'
import { type TaskBook, wrongOfTasks } from './model-task-rules.ts'
import { jobRequest, type Workbench } from './workbench.ts'

const FINAL: readonly TaskState[] = ['FINISHED', 'CANCELLED']

/** A schedule of a task as the steps ask for it, from an instant on. */
export interface TaskRhythm {
  readonly everyS: number
  readonly startInMs: number
  readonly stop: { readonly executions: number } | { readonly inMs: number } | null
}

/** A task as the steps ask for it. */
export interface TaskPlan {
  readonly active: boolean
  readonly rhythm: TaskRhythm
  readonly request: Omit<Partial<JobRequest>, 'target'> & Pick<JobRequest, 'target'>
}

/** A change of a task as the steps ask for it: one of these. */
export type TaskTurn =
  | { readonly active: boolean }
  | { readonly name: string }
  | { readonly rhythm: TaskRhythm }
  | { readonly request: Pick<JobRequest, 'name' | 'target'> }

const applicability = { resourceTypes: ['entity.device'], models: [] }
const desks = new WeakMap<Workbench, Tasks>()

/** The use cases of tasks as a process has them. */
export function tasksOf(bench: Workbench): Tasks {
  const known =
    desks.get(bench) ??
    createTasks({
      database: bench.database,
      now: () => bench.clock.now(),
      nextNumber: bench.nextNumber,
      findType: (_tx, _organization, name) =>
        Promise.resolve({ name, profiles: null, applicability, judgeParameters: own => ({ ...own }) }),
      compile: compileEntityFilter,
      onCommit: bench.engine.wake,
    })
  desks.set(bench, known)
  return known
}

export interface ModelTasksParts {
  readonly database: Database
  readonly clock: VirtualClock
  readonly caller: Caller
  readonly command: ModelProcesses['command']
  /** told of jobs that a client was told are cancelled */
  readonly onCancelled: (jobs: readonly bigint[]) => Promise<void>
  /** told of the job that a task waits with when the task is activated */
  readonly onActivated: (job: bigint) => void
  /** whether a client has held back or activated a job itself */
  readonly isTouched: (job: bigint) => boolean
  readonly breach: (what: string) => void
}

export type ModelTasks = ReturnType<typeof createModelTasks>

export function createModelTasks(parts: ModelTasksParts) {
  const { database, clock, caller, command, onCancelled, onActivated, isTouched, breach } = parts
  const books = new Map<string, TaskBook>()
  const requests = new Map<bigint, unknown>()
  let made = 0
  let changes = 0

  const read = (id: string) => readTask(database, caller.organization, id)
  const idAt = (index: number) => [...books.keys()][index % Math.max(1, books.size)]

  function scheduleOf({ everyS, startInMs, stop }: TaskRhythm): TaskSchedule['source'] {
    const now = clock.now().getTime()
    const dateIn = (ms: number) => ({ date: new Date(now + ms).toISOString() })
    const read = parseTaskSchedule(
      {
        start: dateIn(startInMs),
        ...(stop && { stop: 'inMs' in stop ? dateIn(stop.inMs) : stop }),
        repeating: { period: { each: everyS, unit: 'SECONDS' } },
      },
      now,
    )
    if (!read.ok) throw new Error(JSON.stringify(read.problems))
    return read.value.source
  }

  /** A start or stop of the job that is not sooner than the next run. */
  const overlaps = ({ start, stop }: JobRequest['schedule'], everyMs: number) =>
    [start, stop].some(moment => moment && 'delayed' in moment && moment.delayed >= everyMs)

  function holdTo(refusal: ErrorName | null, what: string, outcome: Outcome<unknown>): void {
    if (outcome.kind === 'unanswered') return
    const code = outcome.kind === 'refused' ? outcome.error.entry.code : null
    const owed = refusal && ERRORS[refusal].code
    if (code !== owed) breach(`${what} came to ${code}, and not to ${owed}`)
  }

  /** The grid of a task begins anew: from here on occurrences are counted. */
  const countFrom = (row: TaskRow) =>
    row.waitingAt && { at: row.waitingAt.getTime(), count: row.executions + row.skipped }

  return {
    count: () => books.size,
    /** A task's public id. */
    idAt,
    async create({ active, rhythm, request: asked }: TaskPlan): Promise<void> {
      made += 1
      const id = `task ${made}`
      const request = jobRequest(asked)
      const schedule = scheduleOf(rhythm)
      const refusal = overlaps(request.schedule, rhythm.everyS * 1_000) ? 'invalidField' : null
      const outcome = await command(bench => tasksOf(bench).create(bench.caller, { id, active, schedule, request }))
      holdTo(refusal, `POST of task ${JSON.stringify({ schedule, request })}`, outcome)
      const row = await read(id)
      if (outcome.kind === 'obeyed' && !isDeepStrictEqual(row, outcome.answer)) breach(`${id} is stored otherwise`)
      const fresh = { name: null, ran: 0, cancelled: false }
      if (row) books.set(id, { ...fresh, active, rhythm, schedule, request, from: countFrom(row) })
    },
    async change(index: number, turn: TaskTurn): Promise<void> {
      const id = idAt(index)
      if (id === undefined) return
      const book = books.get(id)!
      const before = (await read(id))!
      changes += 1
      const rhythm = 'rhythm' in turn ? turn.rhythm : book.rhythm
      const request = 'request' in turn ? { ...book.request, ...turn.request } : book.request
      const schedule = 'rhythm' in turn ? scheduleOf(rhythm) : book.schedule
      const asked: TaskChange = {
        description: `change ${changes}`,
        ...('active' in turn && { active: turn.active }),
        ...('name' in turn && { name: turn.name }),
        ...('rhythm' in turn && { schedule }),
        ...('request' in turn && { request: (own: JobRequest) => ({ ...own, ...turn.request }) }),
      }
      const refusal = !['ACTIVE', 'INACTIVE'].includes(before.state)
        ? 'taskTransition'
        : overlaps(request.schedule, rhythm.everyS * 1_000)
          ? 'invalidField'
          : null
      const outcome = await command(bench => tasksOf(bench).change(bench.caller, id, asked))
      holdTo(refusal, `PUT ${JSON.stringify(turn)} of ${id} in ${before.state}`, outcome)
      const after = (await read(id))!
      if (outcome.kind === 'refused' && !isDeepStrictEqual(after, before)) breach(`${id} was changed by a refused PUT`)
      // Where nobody answered, it was carried out as a whole or not at all.
      if (after.description !== asked.description) return
      if (asked.active && after.waitingJob !== null) onActivated(after.waitingJob)
      books.set(id, {
        ...book,
        rhythm,
        schedule,
        request,
        active: 'active' in turn ? turn.active : book.active,
        name: 'name' in turn ? turn.name : book.name,
        from: 'rhythm' in turn || book.from === null ? countFrom(after) : book.from,
        ran: 'rhythm' in turn ? after.executions : book.ran,
      })
    },
    async cancel(index: number): Promise<void> {
      const id = idAt(index)
      if (id === undefined) return
      const before = (await read(id))!
      const running = (await openJobsOf(database, [before.task])).filter(job => job !== before.waitingJob)
      const outcome = await command(bench => tasksOf(bench).cancel(bench.caller, id))
      holdTo(FINAL.includes(before.state) ? 'taskTransition' : null, `DELETE of ${id} in ${before.state}`, outcome)
      const { state: after } = (await read(id))!
      const isCancelled = after === 'CANCELLING' || after === 'CANCELLED'
      books.set(id, { ...books.get(id)!, cancelled: isCancelled })
      if (outcome.kind !== 'obeyed') return
      if (!isCancelled) breach(`${id} was deleted, and is ${after}`)
      await onCancelled(running)
      const { state } = outcome.answer
      const owed = running.length > 0 ? 'CANCELLING' : 'CANCELLED'
      if (state !== owed) breach(`${id} is ${state} with ${running.length} jobs running when it was deleted`)
      const { waitingJob } = before
      if (waitingJob !== null && (await readJob(database, caller.organization, waitingJob))) {
        breach(`${id} was deleted, and the job ${waitingJob} that it waited with is there`)
      }
    },
    /** What is wrong with tasks, in words, at an instant at which all that is due has been done. */
    async judge(): Promise<string[]> {
      const { organization } = caller
      return await wrongOfTasks({ db: database, organization, books, requests, isTouched }, clock.now().getTime())
    },
    /** The ids of those that go on. */
    async goingOn(): Promise<number[]> {
      const rows = await Promise.all([...books.keys()].map(read))
      return rows.flatMap((row, index) => (row && !FINAL.includes(row.state) ? [index] : []))
    },
  }
}
