/**
 * The filter grammar: what a client writes, read into a small tree whose values have the type of their field. Which fields there are,
 * and what they are in a database, it is told and never knows. Serves: Target (`filter`), Job and operation search.
 */
import { DroverError } from './errors.ts'
import { readInstant } from './instants.ts'

/** What kind of value a field holds. `any` is for what devices collected: text, number or boolean, known only row by row. */
export type FieldType = 'text' | 'number' | 'boolean' | 'date' | 'any' | 'location'

/** The type of a field by its name; undefined where there is no such field. */
export type FieldTypes = (name: string) => FieldType | undefined

/** A value as the field's type holds it; a date is epoch milliseconds, or an empty text where equality asks for none. */
export type FilterValue = string | number | boolean

/** Longitude and latitude in degrees. */
export type FilterPoint = readonly [number, number]

/** A filter read. What the grammar says in several ways is here said in one: `neq` is a `not` of `anyOf`. */
export type Filter =
  | { readonly kind: 'everything' }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly kind: 'not'; readonly part: Filter }
  | { readonly kind: 'anyOf'; readonly field: string; readonly values: readonly FilterValue[] }
  | {
      readonly kind: 'order'
      readonly field: string
      readonly operator: 'gt' | 'gte' | 'lt' | 'lte'
      readonly value: FilterValue
    }
  | FilterPattern
  | { readonly kind: 'exists'; readonly field: string }
  | { readonly kind: 'inside'; readonly field: string; readonly ring: readonly FilterPoint[] }

/** A regular expression, and where it stands in the body: whether it can be read turns out where it is used. */
export interface FilterPattern {
  readonly kind: 'like'
  readonly field: string
  readonly pattern: string
  readonly caseSensitive: boolean
  readonly path: string
}

/** How a filter is read. */
export interface FilterOptions {
  /** where the filter stands in the body, for errors */
  readonly path?: string
  /** false: `like` ignores case */
  readonly caseSensitive?: boolean
}

/** Brackets within brackets; connectives only, a leaf has none. */
export const FILTER_DEPTH_MAX = 20
/** Conditions of one filter. */
export const FILTER_CONDITIONS_MAX = 200
/** Values of one `in` or `nin`. */
export const FILTER_VALUES_MAX = 1_000
/** Characters of one text. */
const FILTER_TEXT_MAX = 4_096
/** Characters of one regular expression. */
export const FILTER_PATTERN_MAX = 256
/** Corners of one polygon. */
const FILTER_CORNERS_MAX = 100

const LEAVES = ['eq', 'neq', 'like', 'gt', 'lt', 'gte', 'lte', 'in', 'nin', 'exists', 'within'] as const
type Leaf = (typeof LEAVES)[number]

interface Reading {
  readonly fieldTypes: FieldTypes
  readonly caseSensitive: boolean
  conditions: number
}

/**
 * Reads a filter; absent, null and `{}` match everything. Several operators in one node, and several fields in one operator, mean
 * and. Throws `unknownFilterField` naming the field, and `invalidFilter` naming the place, for everything else it cannot read.
 */
export function parseFilter(json: unknown, fieldTypes: FieldTypes, options: FilterOptions = {}): Filter {
  if (json === undefined || json === null) return { kind: 'everything' }
  const reading: Reading = { fieldTypes, caseSensitive: options.caseSensitive ?? true, conditions: 0 }
  return readNode(json, options.path ?? 'filter', 1, reading)
}

/** The names of the fields that a filter asks about, each once, in order. */
export function filterFields(filter: Filter): string[] {
  const names = new Set<string>()
  const visit = (node: Filter): void => {
    if ('parts' in node) node.parts.forEach(visit)
    else if ('part' in node) visit(node.part)
    else if ('field' in node) names.add(node.field)
  }
  visit(filter)
  return [...names]
}

/** The regular expressions of a filter, in order. */
export function filterPatterns(filter: Filter): FilterPattern[] {
  if ('parts' in filter) return filter.parts.flatMap(filterPatterns)
  if ('part' in filter) return filterPatterns(filter.part)
  return filter.kind === 'like' ? [filter] : []
}

function refused(path: string, message: string): DroverError {
  return new DroverError(
    'invalidFilter',
    [{ name: path, value: message }],
    `The filter is not valid: ${path} ${message}.`,
  )
}

function readNode(json: unknown, path: string, depth: number, reading: Reading): Filter {
  if (depth > FILTER_DEPTH_MAX) throw refused(path, `is nested deeper than ${FILTER_DEPTH_MAX} levels`)
  const parts = Object.entries(readObject(json, path)).map(([operator, operand]) =>
    readOperator(operator, operand, `${path}.${operator}`, depth, reading),
  )
  return allOf(parts)
}

function readOperator(operator: string, operand: unknown, path: string, depth: number, reading: Reading): Filter {
  if (operator === 'not') return { kind: 'not', part: readNode(operand, path, depth + 1, reading) }
  if (operator === 'and' || operator === 'or') {
    if (!Array.isArray(operand)) throw refused(path, 'must be an array of conditions')
    if (operator === 'or' && operand.length === 0) throw refused(path, 'must hold at least one condition')
    if (operand.length > FILTER_CONDITIONS_MAX)
      throw refused(path, `holds more than ${FILTER_CONDITIONS_MAX} conditions`)
    const parts = operand.map((part, index) => readNode(part, `${path}[${index}]`, depth + 1, reading))
    return operator === 'and' ? allOf(parts) : parts.length === 1 ? parts[0]! : { kind: 'or', parts }
  }
  const leaf = LEAVES.find(known => known === operator)
  if (!leaf) throw refused(path, `is no operator; known are and, or, not, ${LEAVES.join(', ')}`)
  const fields = Object.entries(readObject(operand, path))
  if (fields.length === 0) throw refused(path, 'must name a field')
  return allOf(fields.map(([field, value]) => readLeaf(leaf, field, value, path, reading)))
}

function readLeaf(leaf: Leaf, field: string, value: unknown, parent: string, reading: Reading): Filter {
  const type = reading.fieldTypes(field)
  if (type === undefined) throw new DroverError('unknownFilterField', [{ name: field }])
  if (++reading.conditions > FILTER_CONDITIONS_MAX) {
    throw refused('filter', `holds more than ${FILTER_CONDITIONS_MAX} conditions`)
  }
  const path = `${parent}.${field}`
  if (leaf === 'exists') return readExists(field, value, path)
  if (type === 'location') return readInside(leaf, field, value, path)
  switch (leaf) {
    case 'eq':
      return { kind: 'anyOf', field, values: [readValue(value, type, path)] }
    case 'neq':
      return { kind: 'not', part: { kind: 'anyOf', field, values: [readValue(value, type, path)] } }
    case 'in':
      return { kind: 'anyOf', field, values: readValues(value, type, path) }
    case 'nin':
      return { kind: 'not', part: { kind: 'anyOf', field, values: readValues(value, type, path) } }
    case 'like':
      return { kind: 'like', field, pattern: readPattern(value, path), caseSensitive: reading.caseSensitive, path }
    case 'within':
      return readWithin(field, value, type, path)
    default:
      return { kind: 'order', field, operator: leaf, value: readOrdered(value, type, path) }
  }
}

function readExists(field: string, value: unknown, path: string): Filter {
  const wanted = value === 'true' ? true : value === 'false' ? false : value
  if (typeof wanted !== 'boolean') throw refused(path, 'must be true or false')
  const exists: Filter = { kind: 'exists', field }
  return wanted ? exists : { kind: 'not', part: exists }
}

/** A range, both ends included: `[from,to]` or `{"from","to"}`. */
function readWithin(field: string, value: unknown, type: FieldType, path: string): Filter {
  const ends = Array.isArray(value) ? value : [readObject(value, path).from, readObject(value, path).to]
  if (ends.length !== 2) throw refused(path, 'must be an array of two values, from and to')
  const [from, to] = [readOrdered(ends[0], type, `${path}[0]`), readOrdered(ends[1], type, `${path}[1]`)]
  return allOf([
    { kind: 'order', field, operator: 'gte', value: from },
    { kind: 'order', field, operator: 'lte', value: to },
  ])
}

/** A GeoJSON polygon of one ring. */
function readInside(leaf: Leaf, field: string, value: unknown, path: string): Filter {
  if (leaf !== 'within') throw refused(path, 'is a location: only exists and within a polygon apply')
  const { type, coordinates } = readObject(value, path)
  const rings = Array.isArray(coordinates) ? coordinates : []
  const ring: unknown = rings[0]
  if (type !== 'Polygon' || rings.length !== 1 || !Array.isArray(ring)) {
    throw refused(path, 'must be a GeoJSON Polygon of one ring')
  }
  if (ring.length < 3 || ring.length > FILTER_CORNERS_MAX + 1 || !ring.every(isPoint)) {
    throw refused(path, `must have 3 to ${FILTER_CORNERS_MAX} corners, each [longitude, latitude]`)
  }
  return { kind: 'inside', field, ring }
}

function isPoint(json: unknown): json is FilterPoint {
  return (
    Array.isArray(json) && json.length === 2 && json.every(each => typeof each === 'number' && Number.isFinite(each))
  )
}

function readValues(value: unknown, type: FieldType, path: string): FilterValue[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > FILTER_VALUES_MAX) {
    throw refused(path, `must be an array of 1 to ${FILTER_VALUES_MAX} values`)
  }
  return value.map((each, index) => readValue(each, type, `${path}[${index}]`))
}

function readOrdered(value: unknown, type: FieldType, path: string): FilterValue {
  if (type === 'boolean') throw refused(path, 'is true or false: it has no order')
  if (type === 'date') return readDate(value, path)
  return readValue(value, type, path)
}

function readValue(value: unknown, type: FieldType, path: string): FilterValue {
  if (typeof value === 'object') throw refused(path, 'must be a text, a number or a boolean')
  switch (type) {
    case 'number':
      return readNumber(value, path)
    case 'boolean':
      if (value === true || value === 'true') return true
      if (value === false || value === 'false') return false
      throw refused(path, 'must be true or false')
    case 'date':
      return value === '' ? '' : readDate(value, path)
    case 'any':
      return typeof value === 'string' ? readText(value, path) : (value as FilterValue)
    default:
      return readText(String(value), path)
  }
}

function readNumber(value: unknown, path: string): number {
  const number = typeof value === 'string' && /^[+-]?\d{1,20}(\.\d{1,20})?$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number)) throw refused(path, 'must be a number')
  return number
}

/** The last instant that an ISO date of four digits can name. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

function readDate(value: unknown, path: string): number {
  if (typeof value === 'number' && value >= 0 && value <= LAST_INSTANT) return Math.floor(value)
  const text = typeof value === 'string' ? value : ''
  const read = readInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
  if (!read) throw refused(path, 'must be an ISO-8601 timestamp such as 2030-01-02T03:04:05Z')
  return read.at
}

function readText(value: string, path: string): string {
  if (value.length > FILTER_TEXT_MAX) throw refused(path, `is longer than ${FILTER_TEXT_MAX} characters`)
  if (value.includes('\u0000')) throw refused(path, 'holds the character U+0000')
  return value
}

function readPattern(value: unknown, path: string): string {
  if (typeof value === 'object') throw refused(path, 'must be a regular expression')
  const pattern = readText(String(value), path)
  if (pattern.length > FILTER_PATTERN_MAX) {
    throw refused(path, `is a regular expression longer than ${FILTER_PATTERN_MAX} characters`)
  }
  // Every other pattern is one pass over the text; this one may take longer than anybody waits.
  if (refersBack(pattern)) throw refused(path, 'is a regular expression with a back-reference, of which there are none')
  return pattern
}

/** Whether a pattern refers back to what a part of it has matched; an escaped backslash before a digit does not. */
function refersBack(pattern: string): boolean {
  return [...pattern.matchAll(/\\(.)/gs)].some(([, escaped = '']) => /[1-9]/.test(escaped))
}

function readObject(json: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw refused(path, 'must be an object')
  return json as Readonly<Record<string, unknown>>
}

function allOf(parts: readonly Filter[]): Filter {
  if (parts.length === 0) return { kind: 'everything' }
  return parts.length === 1 ? parts[0]! : { kind: 'and', parts }
}
