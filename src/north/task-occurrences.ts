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
      const found = tasks
        .slice(0, TASKS_MAX)
        .flatMap(task => occurrencesOf(task, from, to).map(at => ({ task, at })))
        .sort((a, b) => a.at - b.at)
      return {
        occurrences: found.slice(0, OCCURRENCES_MAX).map(({ task, at }) => ({
          taskId: task.id,
          name: task.name ?? '',
          operationName: task.request.name,
          date: writeInstant(at),
        })),
        more: found.length > OCCURRENCES_MAX || tasks.length > TASKS_MAX,
      }
    },
  )
}

/** The waiting occurrence of a task and those after it, as far as its executions go; one more than is told, at most. */
function occurrencesOf(task: TaskRow, from: Instant, to: Instant): Instant[] {
  if (!task.waitingAt) return []
  const schedule = taskScheduleOf(task)
  const { stop, repeating } = schedule
  let left = stop?.kind === 'executions' ? stop.executions - task.executions : Number.POSITIVE_INFINITY
  const found: Instant[] = []
  let at: Instant | null = task.waitingAt.getTime()
  if (at < from && left === Number.POSITIVE_INFINITY) at = repeating && nextOccurrence(schedule, from, true)
  while (at !== null && at < to && left > 0 && found.length <= OCCURRENCES_MAX) {
    if (at >= from) found.push(at)
    left -= 1
    at = repeating && nextOccurrence(schedule, at, false)
  }
  return found
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
