/**
 * Reads what a client asks of a task: the body that makes one and the change of a PUT, in the form in which they are read back. What
 * follows from a schedule, and who may run the job, others judge. Serves: Task, Endpoints (Tasks).
 */
import { isName } from './data-model.ts'
import type { Instant } from './instants.ts'
import type { JobRequest, JobTarget, TargetSelection } from './job.ts'
import { type JobRequestRules, parseJobRequest } from './job-request.ts'
import type { Problem } from './problems.ts'
import { isAbsent, type Members, readMembers } from './reading.ts'
import { refusalOf } from './refusal.ts'
import { readTarget, readTargetChange } from './target-selection.ts'
import type { TaskChange, TaskRequest } from './task.ts'
import { parseTaskSchedule, type TaskSchedule } from './task-schedule.ts'

/** Characters of a task's name and description. */
const TASK_TEXT_LENGTH_MAX = 4_000
/** Entities that the list of a task may grow to by PUT. */
const TASK_ENTITIES_MAX = 10_000

const PATH = 'task.job.request'

/** Reads the body `{"task":{…}}` that creates a task. Throws one DroverError for all that is wrong, each field by its path. */
export function parseTaskBody(
  body: unknown,
  rules: JobRequestRules,
  { now, resourceType }: { readonly now: Instant; readonly resourceType?: unknown },
): TaskRequest {
  const problems: Problem[] = []
  const task = unwrap(body, ['id', 'name', 'description', 'active', 'schedule', 'job'], problems)
  const id = isAbsent(task.id) ? undefined : readId(task.id, problems)
  const words = readWords(task, problems)
  const active = readActive(task.active, problems) ?? true
  const schedule = readSchedule(task.schedule, now, problems)
  const job = readMembers(task.job, 'task.job', ['request'], problems)
  if (problems.length > 0 || !job || !schedule) throw refusalOf(problems)
  const request = parseJobRequest(job.request, rules, { path: PATH, inTask: true, resourceType })
  return { ...(id !== undefined && { id }), ...words, active, schedule, request }
}

/**
 * Reads the body `{"task":{…}}` of a PUT. `schedule` is replaced as a whole; of `job.request` each member that is there replaces that of
 * the template, the query's `resourceType` that of its target, and entities are added to its list and taken from it. Throws like `parseTaskBody`; the request it answers may throw
 * so, too, when it is made.
 */
export function parseTaskChange(
  body: unknown,
  rules: JobRequestRules,
  { now, resourceType }: { readonly now: Instant; readonly resourceType?: unknown },
): TaskChange {
  const problems: Problem[] = []
  const task = unwrap(body, ['name', 'description', 'active', 'schedule', 'job'], problems)
  const words = readWords(task, problems)
  const active = readActive(task.active, problems)
  const schedule = isAbsent(task.schedule) ? undefined : readSchedule(task.schedule, now, problems)
  const job = isAbsent(task.job) ? undefined : readMembers(task.job, 'task.job', ['request'], problems)
  if (problems.length > 0) throw refusalOf(problems)
  const asked = isAbsent(job?.request) && !isAbsent(resourceType) ? {} : job?.request
  return {
    ...words,
    ...(active !== undefined && { active }),
    ...(schedule && { schedule }),
    ...(!isAbsent(asked) && { request: (before: JobRequest) => changeRequest(before, asked, rules, resourceType) }),
  }
}

function changeRequest(
  { resourceType, ...before }: JobRequest,
  asked: unknown,
  rules: JobRequestRules,
  askedType: unknown,
): JobRequest {
  const problems: Problem[] = []
  const members = readMembers(asked, PATH, [...Object.keys(before), 'userNotes'], problems)
  if (!members) throw refusalOf(problems)
  const target = isAbsent(members.target) ? before.target : changeTarget(before.target, members.target, rules, problems)
  if (problems.length > 0) throw refusalOf(problems)
  const given = Object.entries(members).filter(([, value]) => !isAbsent(value))
  const grown = { ...rules, entitiesMax: Math.max(rules.entitiesMax, TASK_ENTITIES_MAX) }
  return parseJobRequest({ ...before, ...Object.fromEntries(given), target }, grown, {
    path: PATH,
    inTask: true,
    resourceType: isAbsent(askedType) ? resourceType : askedType,
  })
}

/** Lists grow and shrink; a tag or a filter, or a list in place of one, replaces what was asked before. */
function changeTarget(before: JobTarget, json: unknown, rules: JobRequestRules, problems: Problem[]): JobTarget {
  const path = `${PATH}.target`
  const isWhole = typeof json === 'object' && json !== null && !('remove' in json) && !asksForList(json)
  if (isWhole) return readTarget(json, path, rules, problems)
  const { append = {}, remove = {} } = readTargetChange(json, path, rules, problems)
  if (remove.tags)
    problems.push({ path: `${path}.remove.tags`, message: 'is unknown; known are entities', kind: 'unknown' })
  const kept = before.append?.tags || before.append?.filter || before.filter ? {} : (before.append ?? {})
  return { append: grow(kept, append, new Set(remove.entities ?? [])) }
}

function asksForList(target: object): boolean {
  const { append } = target as { append?: unknown }
  return typeof append === 'object' && append !== null && ('entities' in append || 'entitiesWithParameters' in append)
}

function grow(before: TargetSelection, append: TargetSelection, removed: ReadonlySet<string>): TargetSelection {
  const own = [...(append.entitiesWithParameters ?? []), ...(before.entitiesWithParameters ?? [])]
  const withParameters = [...new Map(own.toReversed().map(each => [each.id, each])).values()]
  const entities = [...new Set([...(before.entities ?? []), ...(append.entities ?? [])])]
  const keptOwn = withParameters.filter(({ id }) => !removed.has(id) && !append.entities?.includes(id))
  const ownIds = new Set(append.entitiesWithParameters?.map(({ id }) => id))
  return {
    entities: entities.filter(id => !removed.has(id) && !ownIds.has(id)),
    ...(keptOwn.length > 0 && { entitiesWithParameters: keptOwn }),
  }
}

function unwrap(body: unknown, known: readonly string[], problems: Problem[]): Members {
  if (isAbsent(body)) throw refusalOf([{ path: 'task', message: 'is required', kind: 'missing' }])
  const outside: Problem[] = []
  const outer = readMembers(body, 'body', ['task'], outside)
  if (outside.length > 0) throw refusalOf(outside.map(each => ({ ...each, path: each.path.replace(/^body\./, '') })))
  return readMembers(outer?.task, 'task', known, problems) ?? refuseAll(problems)
}

function refuseAll(problems: readonly Problem[]): never {
  throw refusalOf(problems)
}

function readId(json: unknown, problems: Problem[]): string | undefined {
  if (isName(json)) return json
  problems.push({ path: 'task.id', message: 'must be a text of 1 to 256 characters', kind: 'invalid' })
  return undefined
}

function readWords(task: Members, problems: Problem[]): { readonly name?: string; readonly description?: string } {
  const read = (name: 'name' | 'description') => {
    const json = task[name]
    if (isAbsent(json)) return {}
    if (typeof json === 'string' && json.length <= TASK_TEXT_LENGTH_MAX) return { [name]: json }
    problems.push({
      path: `task.${name}`,
      message: `must be a text of at most ${TASK_TEXT_LENGTH_MAX} characters`,
      kind: 'invalid',
    })
    return {}
  }
  return { ...read('name'), ...read('description') }
}

function readActive(json: unknown, problems: Problem[]): boolean | undefined {
  if (isAbsent(json)) return undefined
  if (typeof json !== 'boolean')
    problems.push({ path: 'task.active', message: 'must be true or false', kind: 'invalid' })
  return json === true
}

function readSchedule(json: unknown, now: Instant, problems: Problem[]): TaskSchedule['source'] | undefined {
  const read = parseTaskSchedule(json, now)
  if (read.ok) return read.value.source
  problems.push(...read.problems)
  return undefined
}
