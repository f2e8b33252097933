/**
 * Reads which entities a job is asked to run on: one list, one tag or one filter, never a mixture. Whether they exist is not its
 * business. Serves: Target.
 */
import { isName } from './data-model.ts'
import { DroverError } from './errors.ts'
import { parseFilter } from './filter.ts'
import type { EntityWithParameters, FilterExpression, JobTarget, TargetSelection } from './job.ts'
import type { Problem } from './problems.ts'
import { isAbsent, readMembers } from './reading.ts'

/**
 * Reads parameters as an object, whether they came so or as the list of named, typed values; `isUnknown` says of a field that the
 * interface has none such.
 */
export type ParametersReader = (
  json: unknown,
  path: string,
) =>
  | { readonly ok: true; readonly value: Record<string, unknown> }
  | { readonly ok: false; readonly field: string; readonly reason: string; readonly isUnknown?: boolean }

/** What keeps parameters from being read, as one of the problems of a request. */
export function problemOf(refused: Extract<ReturnType<ParametersReader>, { ok: false }>): Problem {
  const { field, reason, isUnknown = false } = refused
  return { path: field, message: reason, kind: isUnknown ? 'unknown' : 'invalid' }
}

/** What a target is read by. */
export interface TargetRules {
  /** entries of one array */
  readonly entitiesMax: number
  readonly readParameters: ParametersReader
}

const LISTS = ['entities', 'entitiesWithParameters'] as const

/** Reads the target of a request; absent it is empty. Problems are added with the path of their field. */
export function readTarget(json: unknown, path: string, rules: TargetRules, problems: Problem[]): JobTarget {
  if (isAbsent(json)) return {}
  const members = readMembers(json, path, ['append', 'filter'], problems)
  if (!members) return {}
  const append = isAbsent(members.append)
    ? undefined
    : readSelection(members.append, `${path}.append`, [...LISTS, 'tags', 'filter'], rules, problems)
  const filter = isAbsent(members.filter) ? undefined : readFilter(members.filter, `${path}.filter`, problems)
  if (filter && append && !isEmptySelection(append)) problems.push(mixed(path))
  return { ...(append && { append }), ...(filter && { filter }) }
}

/** Whether something of a target runs with the parameters of the request: all but what only has its own. */
export function usesRequestParameters({ append, filter }: JobTarget): boolean {
  const own = append?.entitiesWithParameters ?? []
  if (own.length === 0 || own.some(each => each.parameters === undefined)) return true
  return filter !== undefined || !isEmptySelection({ ...append, entitiesWithParameters: [] })
}

/** What PUT adds and takes away. */
export interface TargetChange {
  readonly append?: TargetSelection
  readonly remove?: Pick<TargetSelection, 'entities' | 'tags'>
}

/** Reads the target of a PUT: lists or a tag, to add and to take away; a filter cannot be changed. */
export function readTargetChange(json: unknown, path: string, rules: TargetRules, problems: Problem[]): TargetChange {
  const members = readMembers(json, path, ['append', 'remove'], problems)
  if (!members) return {}
  const append = isAbsent(members.append)
    ? undefined
    : readSelection(members.append, `${path}.append`, [...LISTS, 'tags'], rules, problems)
  const remove = isAbsent(members.remove)
    ? undefined
    : readSelection(members.remove, `${path}.remove`, ['entities', 'tags'], rules, problems)
  return { ...(append && { append }), ...(remove && { remove }) }
}

/** The filter of a target, wherever it stands below it, and where that is. */
export function filterOf({ append, filter }: JobTarget): { filter: FilterExpression; path: string } | undefined {
  if (append?.filter) return { filter: append.filter, path: 'append.filter' }
  return filter && { filter, path: 'filter' }
}

/** Whether a target asks for anything at all. */
export function isEmptyTarget(target: JobTarget): boolean {
  return target.filter === undefined && (target.append === undefined || isEmptySelection(target.append))
}

function isEmptySelection({ entities, entitiesWithParameters, tags, filter }: TargetSelection): boolean {
  return !entities?.length && !entitiesWithParameters?.length && !tags && !filter
}

function mixed(path: string): Problem {
  return { path, message: 'must be exactly one of a list of entities, a tag and a filter', kind: 'invalid' }
}

function readSelection(
  json: unknown,
  path: string,
  known: readonly string[],
  rules: TargetRules,
  problems: Problem[],
): TargetSelection {
  const members = readMembers(json, path, known, problems)
  if (!members) return {}
  const at = (name: string) => `${path}.${name}`
  const entities = isAbsent(members.entities)
    ? undefined
    : readIdentifiers(members.entities, at('entities'), rules.entitiesMax, problems)
  const entitiesWithParameters = isAbsent(members.entitiesWithParameters)
    ? undefined
    : readEntitiesWithParameters(members.entitiesWithParameters, at('entitiesWithParameters'), rules, problems)
  const tags = isAbsent(members.tags) ? undefined : readTag(members.tags, at('tags'), problems)
  const filter = isAbsent(members.filter) ? undefined : readFilter(members.filter, at('filter'), problems)
  const alternatives = [entities?.length || entitiesWithParameters?.length, tags, filter].filter(Boolean)
  if (alternatives.length > 1) problems.push(mixed(path))
  return {
    ...(entities && { entities }),
    ...(entitiesWithParameters && { entitiesWithParameters }),
    ...(tags && { tags }),
    ...(filter && { filter }),
  }
}

function readList(json: unknown, path: string, max: number, problems: Problem[]): readonly unknown[] {
  if (Array.isArray(json) && json.length <= max) return json
  problems.push({ path, message: `must be an array of at most ${max} entries`, kind: 'invalid' })
  return []
}

function readIdentifiers(json: unknown, path: string, max: number, problems: Problem[]): string[] {
  return readList(json, path, max, problems).flatMap(
    (each, index) => readIdentifier(each, `${path}[${index}]`, problems) ?? [],
  )
}

function readIdentifier(json: unknown, path: string, problems: Problem[]): string | undefined {
  if (isName(json)) return json
  problems.push({ path, message: 'must be a text of 1 to 256 characters', kind: 'invalid' })
  return undefined
}

function readEntitiesWithParameters(
  json: unknown,
  path: string,
  { entitiesMax, readParameters }: TargetRules,
  problems: Problem[],
): EntityWithParameters[] {
  return readList(json, path, entitiesMax, problems).flatMap((each, index) => {
    const at = `${path}[${index}]`
    const members = readMembers(each, at, ['id', 'parameters'], problems)
    if (!members) return []
    const id = readIdentifier(members.id, `${at}.id`, problems)
    if (isAbsent(members.parameters)) return id === undefined ? [] : [{ id }]
    const parameters = readParameters(members.parameters, `${at}.parameters`)
    if (!parameters.ok) problems.push(problemOf(parameters))
    return id !== undefined && parameters.ok ? [{ id, parameters: parameters.value }] : []
  })
}

function readTag(json: unknown, path: string, problems: Problem[]): string[] | undefined {
  if (!Array.isArray(json) || json.length !== 1) {
    problems.push({ path, message: 'must be an array with exactly one tag name', kind: 'invalid' })
    return undefined
  }
  const tag = readIdentifier(json[0], `${path}[0]`, problems)
  return tag === undefined ? undefined : [tag]
}

/** The grammar is judged here; whether its fields exist is known where the entities are. The filter is kept as it was written. */
function readFilter(json: unknown, path: string, problems: Problem[]): FilterExpression | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    problems.push({ path, message: 'must be an object', kind: 'invalid' })
    return undefined
  }
  try {
    parseFilter(json, () => 'any', { path })
  } catch (error) {
    if (!(error instanceof DroverError)) throw error
    const [at] = error.context
    problems.push({ path: at?.name ?? path, message: String(at?.value), kind: 'filter' })
    return undefined
  }
  return json as FilterExpression
}
