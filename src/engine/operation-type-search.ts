/**
 * Finds operation types by any of their members. They are few, so each is looked at; regular expressions run in linear time and
 * under a bound. Serves: Operation types (search).
 */
import { RE2JS } from 're2js'
import { DroverError } from '../domain/errors.ts'
import type { FieldTypes, Filter, FilterPattern, FilterValue } from '../domain/filter.ts'
import { type OperationType, TYPE_MEMBERS, TYPE_PROFILES } from '../domain/operation-type.ts'
import type { SearchRequest } from '../domain/search.ts'

type Scalar = string | number | boolean

/** Members that a filter may begin with. `profile` is everyone who may run the type. */
const FIELDS: readonly string[] = [...TYPE_MEMBERS, 'profile']

/** Characters that the regular expressions of one search may look at. */
const TESTED_MAX = 2_000_000

/** Any member of a type is a field, and so is whatever lies beneath it: `steps[].name`, `models.manufacturer`. */
export const typeFields: FieldTypes = name => (FIELDS.includes(segmentsOf(name)[0] ?? '') ? 'any' : undefined)

function segmentsOf(field: string): string[] {
  return field
    .replace(/^operationTypes\./, '')
    .replaceAll('[]', '')
    .split('.')
}

/** The types that match, in the order asked, and of these the page asked for. */
export function findTypes(types: readonly OperationType[], search: SearchRequest): OperationType[] {
  const tests = new Map<Filter, (text: string) => boolean>()
  const found = types.filter(type => matches(search.filter, type, tests))
  const sorted = found.toSorted((a, b) => {
    for (const { field, descending } of search.sort) {
      const order = compare(valuesOf(a, field)[0], valuesOf(b, field)[0])
      if (order !== 0) return descending ? -order : order
    }
    return 0
  })
  const { number, size } = search.page
  return sorted.slice((number - 1) * size, number * size)
}

/** The plain values of a field: every item of an array, every leaf of an object; of a model its name. */
export function valuesOf(type: OperationType, field: string): Scalar[] {
  const [first = '', ...rest] = segmentsOf(field)
  let values: unknown[] = [first === 'profile' ? (type.profiles ?? TYPE_PROFILES) : type[first as keyof OperationType]]
  if (first === 'models' && rest.length === 0)
    return type.models.map(model => (typeof model === 'string' ? model : model.name))
  for (const segment of rest) {
    values = values
      .flatMap(value => (Array.isArray(value) ? (value as unknown[]) : [value]))
      .flatMap(value => (isObject(value) && Object.hasOwn(value, segment) ? [value[segment]] : []))
  }
  return values.flatMap(leaves)
}

/** What equality looks at: `fromCatalog` is the name of what was cloned, and says by being there whether anything was. */
function comparedOf(type: OperationType, field: string): Scalar[] {
  const values = valuesOf(type, field)
  return segmentsOf(field).join('.') === 'fromCatalog' ? [...values, values.length > 0] : values
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function leaves(value: unknown): Scalar[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leaves)
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [value] : []
}

function matches(filter: Filter, type: OperationType, tests: Map<Filter, (text: string) => boolean>): boolean {
  switch (filter.kind) {
    case 'everything':
      return true
    case 'and':
      return filter.parts.every(part => matches(part, type, tests))
    case 'or':
      return filter.parts.some(part => matches(part, type, tests))
    case 'not':
      return !matches(filter.part, type, tests)
    case 'exists':
      return valuesOf(type, filter.field).length > 0
    case 'anyOf':
      return comparedOf(type, filter.field).some(value => filter.values.some(each => String(each) === String(value)))
    case 'like': {
      const test = tests.get(filter) ?? tester(filter)
      tests.set(filter, test)
      return valuesOf(type, filter.field).some(value => test(String(value)))
    }
    case 'order':
      return valuesOf(type, filter.field).some(value => isOrdered(compare(value, filter.value), filter.operator))
    case 'inside':
      return false
  }
}

function tester({ pattern, caseSensitive, path }: FilterPattern): (text: string) => boolean {
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(pattern, caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new DroverError('invalidFilter', [{ name: path, value: reason }])
  }
  let tested = 0
  return text => {
    tested += text.length
    if (tested * Math.max(1, compiled.programSize() / 100) > TESTED_MAX) throw new DroverError('searchTooExpensive')
    return compiled.matcher(text).find()
  }
}

function isOrdered(order: number, operator: 'gt' | 'gte' | 'lt' | 'lte'): boolean {
  if (operator === 'gt') return order > 0
  if (operator === 'gte') return order >= 0
  return operator === 'lt' ? order < 0 : order <= 0
}

/** Numbers by their value, everything else as text; nothing comes last. */
function compare(one: Scalar | undefined, other: FilterValue | undefined): number {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined)
  if (typeof one === 'number' && typeof other === 'number') return one - other
  const [a, b] = [String(one), String(other)]
  return a < b ? -1 : a > b ? 1 : 0
}
