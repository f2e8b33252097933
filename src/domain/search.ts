/**
 * Reads what a search asks for: which rows, in which order, which page of them, grouped or with which columns. Which fields there
 * are it is told. Serves: Job and operation search.
 */
import { DroverError } from './errors.ts'
import { type FieldTypes, type Filter, parseFilter } from './filter.ts'
import type { Problem } from './problems.ts'
import { isAbsent, type Members, readMembers, readWhole, readWord } from './reading.ts'
import { refusalOf } from './refusal.ts'

/** Rows of one page. */
const SEARCH_SIZE_MAX = 2_000
/** Rows of a page where the client does not say. */
const SEARCH_SIZE_DEFAULT = 1_000
/** Highest page number; cursors lead further. */
const SEARCH_PAGE_MAX = 1_000_000_000
/** Fields to sort or group by. */
const SEARCH_SORTS_MAX = 10
/** Columns of one select. */
const SEARCH_COLUMNS_MAX = 100
/** Characters of an alias or a cursor. */
const TEXT_MAX = 1_000

/** One column of a select: a field of the table, and the name it goes by. */
export interface SelectedColumn {
  readonly field: string
  readonly alias: string
}

/** A search read. A cursor, where there is one, stands in place of the page number. */
export interface SearchRequest {
  readonly filter: Filter
  readonly page: { readonly number: number; readonly size: number; readonly cursor?: string }
  readonly sort: readonly { readonly field: string; readonly descending: boolean }[]
  readonly group: readonly string[]
  /** empty: rows have the shape of their GET */
  readonly select: readonly SelectedColumn[]
}

const MEMBERS = ['filter', 'limit', 'sort', 'group', 'select'] as const

/**
 * Reads the body of a search; all of it is optional. Throws one DroverError: `unknownFilterField` for a field that the table does not
 * have, wherever it stands, and else what `parseFilter` and the registry say, naming the place.
 */
export function parseSearch(
  body: unknown,
  fieldTypes: FieldTypes,
  options: { readonly caseSensitive?: boolean } = {},
): SearchRequest {
  const problems: Problem[] = []
  const members: Members = isAbsent(body) ? {} : (readMembers(body, 'body', MEMBERS, problems) ?? {})
  const page = readPage(members.limit, problems)
  const sort = readParameters(members.sort, 'sort', ['name', 'type'], problems).map(({ each, path }) => ({
    field: readField(each.name, `${path}.name`, fieldTypes, problems),
    descending:
      !isAbsent(each.type) &&
      readWord(each.type, `${path}.type`, ['ASCENDING', 'DESCENDING'], problems) === 'DESCENDING',
  }))
  const group = readParameters(members.group, 'group', ['name'], problems).map(({ each, path }) =>
    readField(each.name, `${path}.name`, fieldTypes, problems),
  )
  const select = readSelect(members.select, fieldTypes, problems)
  if (problems.length > 0) {
    throw refusalOf(problems.map(problem => ({ ...problem, path: problem.path.replace(/^body\./, '') })))
  }
  return { filter: parseFilter(members.filter, fieldTypes, options), page, sort, group, select }
}

function readPage(json: unknown, problems: Problem[]): SearchRequest['page'] {
  const members: Members = isAbsent(json)
    ? {}
    : (readMembers(json, 'limit', ['start', 'size', 'cursor'], problems) ?? {})
  const { start, size, cursor } = members
  const whole = (value: unknown, name: string, fallback: number, max: number) =>
    isAbsent(value) ? fallback : (readWhole(value, `limit.${name}`, { min: 1, max }, problems) ?? fallback)
  const page = {
    number: whole(start === 0 || start === '0' ? 1 : start, 'start', 1, SEARCH_PAGE_MAX),
    size: whole(size, 'size', SEARCH_SIZE_DEFAULT, SEARCH_SIZE_MAX),
  }
  if (isAbsent(cursor)) return page
  if (typeof cursor === 'string' && cursor.length <= TEXT_MAX && isAbsent(start)) return { ...page, cursor }
  problems.push({
    path: 'limit.cursor',
    message: 'must be the cursor of an earlier answer, without a start',
    kind: 'invalid',
  })
  return page
}

/** `{"parameters":[…]}`, as sort and group have it. */
function readParameters(
  json: unknown,
  path: string,
  known: readonly string[],
  problems: Problem[],
): { readonly each: Members; readonly path: string }[] {
  if (isAbsent(json)) return []
  const members = readMembers(json, path, ['parameters'], problems)
  if (!members) return []
  return readList(members.parameters, `${path}.parameters`, SEARCH_SORTS_MAX, known, problems)
}

function readList(
  json: unknown,
  path: string,
  max: number,
  known: readonly string[],
  problems: Problem[],
): { readonly each: Members; readonly path: string }[] {
  if (isAbsent(json)) return []
  if (!Array.isArray(json) || json.length > max) {
    problems.push({ path, message: `must be an array of at most ${max} entries`, kind: 'invalid' })
    return []
  }
  return json.flatMap((item, index) => {
    const at = `${path}[${index}]`
    const each = readMembers(item, at, known, problems)
    return each ? [{ each, path: at }] : []
  })
}

function readField(json: unknown, path: string, fieldTypes: FieldTypes, problems: Problem[]): string {
  if (isAbsent(json)) problems.push({ path, message: 'is required', kind: 'missing' })
  else if (typeof json !== 'string') problems.push({ path, message: 'must be the name of a field', kind: 'invalid' })
  else if (fieldTypes(json) === undefined) throw new DroverError('unknownFilterField', [{ name: json }])
  return typeof json === 'string' ? json : ''
}

/** Each entry names a field, and may pick parts of it: `{"name":"jobs.request","fields":[{"field":"name","alias":"Operation"}]}`. */
function readSelect(json: unknown, fieldTypes: FieldTypes, problems: Problem[]): SelectedColumn[] {
  const columns = readList(json, 'select', SEARCH_COLUMNS_MAX, ['name', 'fields'], problems).flatMap(
    ({ each, path }) => {
      if (typeof each.name !== 'string') {
        readField(each.name, `${path}.name`, fieldTypes, problems)
        return []
      }
      const { name } = each
      const parts = readList(each.fields, `${path}.fields`, SEARCH_COLUMNS_MAX, ['field', 'alias'], problems)
      if (parts.length === 0) return [{ field: readField(name, `${path}.name`, fieldTypes, problems), alias: name }]
      return parts.map(part => readColumn(name, part.each, part.path, fieldTypes, problems))
    },
  )
  if (columns.length > SEARCH_COLUMNS_MAX) {
    problems.push({ path: 'select', message: `has more than ${SEARCH_COLUMNS_MAX} columns`, kind: 'invalid' })
  }
  return columns
}

/** A part is a path below the name, or `value` (or nothing) for the field itself. */
function readColumn(
  name: string,
  { field, alias }: Members,
  path: string,
  fieldTypes: FieldTypes,
  problems: Problem[],
): SelectedColumn {
  if (!isAbsent(field) && typeof field !== 'string') {
    problems.push({ path: `${path}.field`, message: 'must be a text', kind: 'invalid' })
  }
  if (!isAbsent(alias) && (typeof alias !== 'string' || alias.length > TEXT_MAX)) {
    problems.push({
      path: `${path}.alias`,
      message: `must be a text of at most ${TEXT_MAX} characters`,
      kind: 'invalid',
    })
  }
  const part = typeof field === 'string' && field !== 'value' ? field : ''
  const candidates = part === '' ? [name] : [`${name}.${part}`, ...(part === name ? [name] : [])]
  const known = candidates.find(each => fieldTypes(each) !== undefined)
  if (known === undefined) throw new DroverError('unknownFilterField', [{ name: candidates[0]! }])
  return { field: known, alias: typeof alias === 'string' && alias !== '' ? alias : known }
}
