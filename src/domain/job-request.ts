/**
 * Reads what a client asks of a job: the request that makes one and the change that PUT brings, checked and normalised to the form
 * in which they are read back. It knows no operation type, no entity and no present instant; those who do judge further.
 * Serves: Job request, Schedule (job), operationParameters, Rules for PUT.
 */
import { type CallbackRules, judgeCallback } from './callback-address.ts'
import { RESOURCE_TYPES } from './data-model.ts'
import { DroverError } from './errors.ts'
import { longestDelayMs } from './instants.ts'
import type { JobChange, JobRequest, JobSchedule, OperationParameters } from './job.ts'
import { OPERATION_RESULTS, type OperationResult } from './operation.ts'
import type { Problem } from './problems.ts'
import { isAbsent, type Members, readMembers, readWhole, readWord } from './reading.ts'
import { refusalOf } from './refusal.ts'
import { parseSchedule } from './schedule.ts'
import { isEmptyTarget, problemOf, readTarget, readTargetChange, type TargetRules } from './target-selection.ts'

/** What a request is read by: limits that an operator may set. */
export interface JobRequestRules extends TargetRules {
  /** `timeout` and `ackTimeout` together must be longer, milliseconds */
  readonly minOperationTimeoutMs: number
  readonly callbacks: CallbackRules
}

/** Where a request stands, and what applies there. */
export interface JobRequestPlace {
  /** the query's `resourceType` */
  readonly resourceType?: unknown
  /** path of the request in the body, for errors */
  readonly path?: string
  /** a task makes jobs later: no exact dates, and the task's own `active` says whether any is launched */
  readonly inTask?: boolean
}

/** Characters of the name of an operation type. */
const OPERATION_NAME_LENGTH_MAX = 50
/** Characters of `userNotes`. */
const USER_NOTES_LENGTH_MAX = 10_000
/** Retries of one operation. */
const RETRIES_MAX = 1_000
/** Serves: operationParameters (`timeout`). */
const DEFAULT_TIMEOUT_MS = 60_000

const REQUEST_MEMBERS = [
  'name',
  'parameters',
  'target',
  'active',
  'schedule',
  'operationParameters',
  'notify',
  'callback',
  'userNotes',
] as const
const CHANGE_MEMBERS = ['active', 'notify', 'callback', 'userNotes', 'schedule', 'target'] as const
const PARAMETER_MEMBERS = ['ackTimeout', 'timeout', 'retries', 'retriesDelay', 'retryResultList'] as const

/**
 * Reads the body `{"job":{"request":{…}}}` that creates a job. Throws one DroverError for all that is wrong with it, each field by
 * its path.
 */
export function parseJobBody(body: unknown, rules: JobRequestRules, place: JobRequestPlace = {}): JobRequest {
  return parseJobRequest(unwrap(body), rules, place)
}

/** Reads a job request. The result is in the form in which it is read back, and reading that again changes nothing. */
export function parseJobRequest(json: unknown, rules: JobRequestRules, place: JobRequestPlace = {}): JobRequest {
  const { path = 'job.request', inTask = false } = place
  const problems: Problem[] = []
  const members = readMembers(json, path, REQUEST_MEMBERS, problems)
  if (!members) throw refusalOf(problems)
  const name = readName(members.name, `${path}.name`, problems)
  const parameters = readParameters(members.parameters, `${path}.parameters`, rules, problems)
  const target = readTarget(members.target, `${path}.target`, rules, problems)
  const active = readFlag(members.active, `${path}.active`, true, problems)
  const schedule = readSchedule(members.schedule, `${path}.schedule`, !inTask, problems)
  const operationParameters = readOperationParameters(members.operationParameters, path, rules, problems)
  const userNotes = readNotes(members.userNotes, `${path}.userNotes`, problems)
  const resourceType = isAbsent(place.resourceType)
    ? undefined
    : readWord(place.resourceType, 'resourceType', RESOURCE_TYPES, problems)
  const request = {
    name,
    parameters,
    target,
    ...(resourceType !== undefined && { resourceType }),
    active,
    schedule,
    operationParameters,
    notify: readFlag(members.notify, `${path}.notify`, false, problems),
    callback: readCallback(members.callback, `${path}.callback`, rules.callbacks, problems),
    ...(userNotes !== undefined && { userNotes }),
  }
  const needsTarget = active || inTask
  if (needsTarget && isAbsent(members.target)) {
    problems.push({ path: `${path}.target`, message: 'is required', kind: 'missing' })
  }
  if (problems.length > 0) throw refusalOf(problems)
  if (needsTarget && isEmptyTarget(target)) throw new DroverError('noTarget', [{ name: `${path}.target` }])
  return request
}

/** Reads the body `{"job":{"request":{…}}}` of a PUT; what it does not hold stays as it is. Throws like `parseJobBody`. */
export function parseJobChange(body: unknown, rules: JobRequestRules): JobChange {
  const path = 'job.request'
  const problems: Problem[] = []
  const members = readMembers(unwrap(body), path, CHANGE_MEMBERS, problems)
  if (!members) throw refusalOf(problems)
  const given = (name: (typeof CHANGE_MEMBERS)[number]) => !isAbsent(members[name])
  const change = {
    ...(given('active') && { active: readFlag(members.active, `${path}.active`, true, problems) }),
    ...(given('notify') && { notify: readFlag(members.notify, `${path}.notify`, false, problems) }),
    ...(given('callback') && {
      callback: readCallback(members.callback, `${path}.callback`, rules.callbacks, problems),
    }),
    ...(given('userNotes') && { userNotes: readNotes(members.userNotes, `${path}.userNotes`, problems) ?? '' }),
    ...(given('schedule') && { schedule: readScheduleChange(members.schedule, `${path}.schedule`, problems) }),
    ...(given('target') && { target: readTargetChange(members.target, `${path}.target`, rules, problems) }),
  }
  if (problems.length > 0) throw refusalOf(problems)
  return change
}

/** The request inside a body; refuses what stands beside it. */
function unwrap(body: unknown): unknown {
  const problems: Problem[] = []
  const outer = isAbsent(body) ? undefined : readMembers(body, 'body', ['job'], problems)
  const job = outer ? readMembers(outer.job, 'job', ['request'], problems) : undefined
  if (job && isAbsent(job.request)) problems.push({ path: 'job.request', message: 'is required', kind: 'missing' })
  if (isAbsent(body)) problems.push({ path: 'job', message: 'is required', kind: 'missing' })
  if (problems.length > 0) throw refusalOf(problems.map(each => ({ ...each, path: each.path.replace(/^body\./, '') })))
  return job?.request
}

function readName(json: unknown, path: string, problems: Problem[]): string {
  if (isAbsent(json)) problems.push({ path, message: 'is required', kind: 'missing' })
  else if (typeof json === 'string' && json !== '' && json.length <= OPERATION_NAME_LENGTH_MAX) return json
  else
    problems.push({ path, message: `must be a text of 1 to ${OPERATION_NAME_LENGTH_MAX} characters`, kind: 'invalid' })
  return ''
}

function readParameters(
  json: unknown,
  path: string,
  rules: JobRequestRules,
  problems: Problem[],
): Record<string, unknown> {
  const read = rules.readParameters(json, path)
  if (read.ok) return read.value
  problems.push(problemOf(read))
  return {}
}

function readFlag(json: unknown, path: string, fallback: boolean, problems: Problem[]): boolean {
  if (isAbsent(json)) return fallback
  if (typeof json !== 'boolean') problems.push({ path, message: 'must be true or false', kind: 'invalid' })
  return json === true
}

function readCallback(json: unknown, path: string, rules: CallbackRules, problems: Problem[]): string {
  if (isAbsent(json)) return ''
  const judged =
    typeof json === 'string' ? judgeCallback(json, rules) : { ok: false as const, problem: 'must be a text' }
  if (judged.ok) return judged.address
  problems.push({ path, message: judged.problem, kind: 'invalid' })
  return ''
}

function readNotes(json: unknown, path: string, problems: Problem[]): string | undefined {
  if (isAbsent(json)) return undefined
  if (typeof json === 'string' && json.length <= USER_NOTES_LENGTH_MAX) return json
  problems.push({ path, message: `must be a text of at most ${USER_NOTES_LENGTH_MAX} characters`, kind: 'invalid' })
  return undefined
}

function readSchedule(json: unknown, path: string, dates: boolean, problems: Problem[]): JobSchedule {
  const read = parseSchedule(json, { path, dates })
  if (read.ok) return read.value.source
  problems.push(...read.problems)
  return {}
}

function readScheduleChange(json: unknown, path: string, problems: Problem[]): Pick<JobSchedule, 'start' | 'stop'> {
  const members = readMembers(json, path, ['start', 'stop'], problems)
  if (!members) return {}
  return readSchedule({ start: members.start, stop: members.stop }, path, true, problems)
}

function readOperationParameters(
  json: unknown,
  requestPath: string,
  rules: JobRequestRules,
  problems: Problem[],
): OperationParameters {
  const path = `${requestPath}.operationParameters`
  const before = problems.length
  const members: Members = isAbsent(json) ? {} : (readMembers(json, path, PARAMETER_MEMBERS, problems) ?? {})
  const whole = (name: (typeof PARAMETER_MEMBERS)[number], fallback: number, min: number, max: number) =>
    isAbsent(members[name])
      ? fallback
      : (readWhole(members[name], `${path}.${name}`, { min, max }, problems) ?? fallback)
  const read = {
    ackTimeout: whole('ackTimeout', 0, 0, longestDelayMs),
    timeout: whole('timeout', DEFAULT_TIMEOUT_MS, 1, longestDelayMs),
    retries: whole('retries', 0, 0, RETRIES_MAX),
    retriesDelay: whole('retriesDelay', 0, 0, longestDelayMs),
    retryResultList: readResults(members.retryResultList, `${path}.retryResultList`, problems),
  }
  if (problems.length === before && read.timeout + read.ackTimeout <= rules.minOperationTimeoutMs) {
    problems.push({
      path: `${path}.timeout`,
      message: `and ackTimeout together must be greater than ${rules.minOperationTimeoutMs} ms`,
      kind: 'invalid',
    })
  }
  return read
}

function readResults(json: unknown, path: string, problems: Problem[]): OperationResult[] {
  if (isAbsent(json)) return []
  if (!Array.isArray(json) || json.length > OPERATION_RESULTS.length) {
    problems.push({ path, message: `must be an array of at most ${OPERATION_RESULTS.length} results`, kind: 'invalid' })
    return []
  }
  const words = json.map((each, index) => readWord(each, `${path}[${index}]`, OPERATION_RESULTS, problems))
  return [...new Set(words.filter(word => word !== undefined))]
}
