/**
 * The fields of a job request, wherever one is kept: with a job, or in a task as its template. Over a jsonb column in the form in which
 * requests are read back. Serves: Job and operation search, Endpoints (Tasks).
 */
import type { FieldType } from '../domain/filter.ts'
import { elements, type FieldTraits, field, object, pathsAbove, type SearchField } from './search-field.ts'
import { type SqlFragment, sql } from './statement.ts'

/** Deepest member of the parameters that can be asked for. */
const PARAMETER_DEPTH_MAX = 20

/** What a window lists, as paths of jsonpath. */
const WINDOW_LISTS = [
  'weekly[*]',
  'weekly[*].days[*]',
  'weekly[*].daily',
  'weekly[*].daily.start',
  'weekly[*].daily.stop',
]

/**
 * The fields below `root`, over a column; `flat` holds further names by path. Who asks, and the name of the operation, are columns of
 * their own where requests are kept and not among these.
 */
export function requestFields(
  root: string,
  request: SqlFragment,
  flat: Readonly<Record<string, string>> = {},
): readonly SearchField[] {
  const at = (path: string): SqlFragment => sql`${request} #> ${path.split('.')}::text[]`
  const textAt = (path: string): SqlFragment => sql`${request} #>> ${path.split('.')}::text[]`
  const named = (type: FieldType, path: string, value: SqlFragment, traits?: FieldTraits): SearchField =>
    field(type, `${root}.${path}${flat[path] ? ` ${flat[path]}` : ''}`, value, traits)
  const text = (path: string) => named('text', path, sql`nullif(${textAt(path)}, '')`, { emptyIsNone: true })
  const number = (path: string) => named('number', path, sql`(${textAt(path)})::float8`)
  const flag = (path: string) => named('boolean', path, sql`(${textAt(path)})::boolean`)
  const date = (path: string) => named('date', path, sql`(${textAt(path)})::timestamptz`)
  const any = (path: string) => named('any', path, at(path))
  const many = (path: string, value = sql`element`) => named('any', path, value, elements(sql`(${at(path)})`))
  /** What lies in a list of the window, by its path there. */
  const inWindow = (path: string) => {
    const name = `${root}.schedule.window.${path.replace(/\[\*\]$/, '')}`
    const names = [...new Set([name.replaceAll('[*]', '[]'), name.replaceAll('[*]', '')])]
    const all = sql`nullif(jsonb_path_query_array(${request}, ${`$.schedule.window.${path}`}::jsonpath), '[]')`
    return field('any', names, sql`element`, { ...elements(all), noColumn: true })
  }
  const leaves = [
    any('parameters'),
    many('target.append.entities'),
    many('target.append.entitiesWithParameters', sql`element -> 'id'`),
    many('target.append.tags'),
    any('target.append.filter'),
    any('target.filter'),
    text('resourceType'),
    flag('active'),
    date('schedule.start.date'),
    number('schedule.start.delayed'),
    date('schedule.stop.date'),
    number('schedule.stop.delayed'),
    any('schedule.window'),
    { ...text('schedule.window.timezone'), noColumn: true as const },
    number('schedule.scattering.maxSpread'),
    text('schedule.scattering.strategy.field'),
    number('schedule.scattering.strategy.factor'),
    number('schedule.scattering.strategy.warningMaxRate'),
    number('operationParameters.ackTimeout'),
    number('operationParameters.timeout'),
    number('operationParameters.retries'),
    number('operationParameters.retriesDelay'),
    many('operationParameters.retryResultList'),
    flag('notify'),
    text('callback'),
    text('userNotes'),
  ]
  const paths = leaves.map(({ names: [name = ''] }) => name.slice(root.length + 1))
  return [
    ...leaves,
    ...WINDOW_LISTS.map(inWindow),
    ...pathsAbove(paths).map(path => object(`${root}.${path}`, at(path))),
  ]
}

/** Finds the field of a single parameter by its path below `<root>.<below>.parameters`, which no table can list. */
export function parameterFieldOf(
  root: string,
  below: string,
  request: SqlFragment,
): (name: string) => SearchField | undefined {
  const before = `${root}.${below}.parameters.`
  return name => {
    if (!name.startsWith(before)) return undefined
    const path = name.slice(before.length).split('.')
    if (path.length > PARAMETER_DEPTH_MAX || path.includes('__proto__')) return undefined
    return field('any', [name], sql`(${request} #> ${['parameters', ...path]}::text[])`, {
      path: name.slice(root.length + 1),
    })
  }
}
