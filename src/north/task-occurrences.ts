/** The route that tells when tasks will make jobs: the coming occurrences of all active tasks. It only reads. Serves: Task. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import './request-caller.ts'
import { OccurrencesQuery, OccurrencesView } from '../contract/task.ts'
import { dayMs, type Instant, readInstant, writeInstant } from '../domain/instants.ts'
import type { Problem } from '../domain/problems.ts'
import { nextOccurrence } from '../domain/recurrence.ts'
import { refusalOf } from '../domain/refusal.ts'
import { taskScheduleOf } from '../engine/task-occurrences.ts'
import type { Database } from '../store/database.ts'
import { readActiveTasks, type TaskRow } from '../store/tasks.ts'
import { judgedByReader } from './jobs.ts'

export interface TaskOccurrencesParts {
  readonly database: Database
  readonly now: () => Date
}

/** Occurrences told. */
const OCCURRENCES_MAX = 2_000
/** Tasks looked at. */
const TASKS_MAX = 2_000
const SPAN_MS = 7 * dayMs
const SPAN_MS_MAX = 400 * dayMs

/** Registers the route. */
export function taskOccurrencesRoutes(app: FastifyInstance, { database, now }: TaskOccurrencesParts): void {
  app.get(
    '/operation/taskOccurrences',
    {
      schema: {
        tags: ['tasks'],
        summary: 'When active tasks will make jobs',
        querystring: OccurrencesQuery,
        response: { 200: OccurrencesView },
      },
      validatorCompiler: judgedByReader,
    },
    async (request): Promise<OccurrencesView> => {
      const { from, to } = readSpan(request, now().getTime())
      const tasks = await readActiveTasks(database, request.caller.organization, TASKS_MAX + 1)
      const { found, cut } = shared(tasks.slice(0, TASKS_MAX), from, to)
      return {
        occurrences: found.map(({ task, at }) => ({ ...named(task), date: writeInstant(at) })),
        cut: cut.map(({ task, at }) => ({ ...named(task), date: writeInstant(at) })),
        more: cut.length > 0 || tasks.length > TASKS_MAX,
      }
    },
  )
}

const named = (task: TaskRow) => ({ taskId: task.id, name: task.name ?? '', operationName: task.request.name })

interface Due {
  readonly task: TaskRow
  readonly at: Instant
}

/**
 * The occurrences of tasks in the order of their dates. Where they are too many, tasks share what is told: one that is due every minute
 * takes what the others leave, and is cut with the first of its occurrences that is not told.
 */
function shared(tasks: readonly TaskRow[], from: Instant, to: Instant): { readonly found: Due[]; readonly cut: Due[] } {
  const found: Due[] = []
  let open = tasks.map(task => ({ task, due: occurrencesOf(task, from, to) }))
  while (open.length > 0 && found.length + open.length <= OCCURRENCES_MAX) {
    const share = Math.floor((OCCURRENCES_MAX - found.length) / open.length)
    open = open.filter(({ task, due }) => {
      for (let told = 0; told < share; told++) {
        const { value: at, done } = due.next()
        if (done) return false
        found.push({ task, at })
      }
      return true
    })
  }
  const cut = open.flatMap(({ task, due }) => {
    const { value: at, done } = due.next()
    return done ? [] : [{ task, at }]
  })
  return { found: found.sort((a, b) => a.at - b.at), cut }
}

/** The waiting occurrence of a task and those after it, as far as its executions go. */
function* occurrencesOf(task: TaskRow, from: Instant, to: Instant): Generator<Instant, void, void> {
  if (!task.waitingAt) return
  const schedule = taskScheduleOf(task)
  const { stop, repeating } = schedule
  let left = stop?.kind === 'executions' ? stop.executions - task.executions : Number.POSITIVE_INFINITY
  let at: Instant | null = task.waitingAt.getTime()
  if (at < from && left === Number.POSITIVE_INFINITY) at = repeating && nextOccurrence(schedule, from, true)
  while (at !== null && at < to && left > 0) {
    if (at >= from) yield at
    left -= 1
    at = repeating && nextOccurrence(schedule, at, false)
  }
}

function readSpan({ query }: FastifyRequest, now: Instant): { readonly from: Instant; readonly to: Instant } {
  const given = query as Readonly<Record<string, unknown>>
  const problems: Problem[] = []
  const read = (name: 'from' | 'to') => {
    const text = given[name]
    if (text === undefined) return undefined
    const instant = typeof text === 'string' ? readInstant(text)?.at : undefined
    if (instant === undefined) {
      problems.push({ path: name, message: 'must be a timestamp such as 2030-01-02T03:04:05Z', kind: 'invalid' })
    }
    return instant
  }
  const from = read('from') ?? now
  const to = read('to') ?? from + SPAN_MS
  if (to - from > SPAN_MS_MAX)
    problems.push({ path: 'to', message: 'must be within 400 days of from', kind: 'invalid' })
  if (problems.length > 0) throw refusalOf(problems)
  return { from, to }
}
