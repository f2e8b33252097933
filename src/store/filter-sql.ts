/**
 * A filter made into a condition of SQL over the columns of one table of fields. Every value is bound; names of fields only look up
 * what the table holds. Every condition is true or not: what is null counts as not. It runs nothing.
 */
import type { FieldType, Filter, FilterValue } from '../domain/filter.ts'
import { type SqlFragment, sql } from './statement.ts'

/** What a field is in SQL. */
export interface FilterColumn {
  readonly type: FieldType
  /**
   * The value, null where there is none; of a field of many values, one element. Its SQL type follows `type`: text, a number,
   * boolean, timestamptz, jsonb for `any`, point for `location`.
   */
  readonly value: SqlFragment
  /** for a field of many values: makes of a condition over `value` that some element meets it */
  readonly some?: (condition: SqlFragment) => SqlFragment
  /** a form of equality that an index serves, or that knows what the value cannot be */
  readonly anyOf?: (values: readonly FilterValue[]) => SqlFragment
  /** that equality denied, where there is always a value and a form of it that an index serves */
  readonly noneOf?: (values: readonly FilterValue[]) => SqlFragment
  /** that a text without a value reads as empty, and is never stored so; of dates that is known */
  readonly emptyIsNone?: boolean
  /** whether there is a value, where `value is not null` does not say: true or false, and never null */
  readonly exists?: SqlFragment
}

/** The column of a field; the filter has been read against the same table, so that it is there. */
export type FilterColumns = (field: string) => FilterColumn | undefined

const JOINED = { and: sql` and `, or: sql` or ` }
const ORDERED = { gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` }

/** The condition. A field that the columns do not have is a fault of the program, and throws. */
export function filterSql(filter: Filter, columns: FilterColumns): SqlFragment {
  switch (filter.kind) {
    case 'everything':
      return sql`true`
    case 'and':
    case 'or': {
      const parts = filter.parts.map(part => filterSql(part, columns))
      return sql`(${sql.join(parts, JOINED[filter.kind])})`
    }
    case 'not': {
      const { part } = filter
      const noneOf = part.kind === 'anyOf' ? columns(part.field)?.noneOf : undefined
      if (part.kind === 'anyOf' && noneOf) return noneOf(part.values)
      // Denied like this, an `exists` is an anti join; with `is not true` it is asked of every row on its own.
      const exists = part.kind === 'exists' ? columns(part.field)?.exists : undefined
      if (exists) return sql`(not ${exists})`
      return sql`((${filterSql(part, columns)}) is not true)`
    }
    default:
      return leafSql(filter, columns)
  }
}

type Leaf = Extract<Filter, { readonly field: string }>

function leafSql(leaf: Leaf, columns: FilterColumns): SqlFragment {
  const column = columns(leaf.field)
  if (!column) throw new Error(`no column for the field ${leaf.field}`)
  if (leaf.kind === 'anyOf' && (column.emptyIsNone || column.type === 'date') && leaf.values.includes('')) {
    return noneOrSql(leaf, columns)
  }
  if (leaf.kind === 'anyOf' && column.anyOf) return column.anyOf(leaf.values)
  if (leaf.kind === 'exists' && column.exists) return column.exists
  const condition = elementSql(leaf, column)
  return column.some ? column.some(condition) : condition
}

/** No value at all, or one of those that are. */
function noneOrSql({ field, values }: Extract<Leaf, { kind: 'anyOf' }>, columns: FilterColumns): SqlFragment {
  const none = filterSql({ kind: 'not', part: { kind: 'exists', field } }, columns)
  const others = values.filter(value => value !== '')
  if (others.length === 0) return none
  return sql`(${none} or ${filterSql({ kind: 'anyOf', field, values: others }, columns)})`
}

function elementSql(leaf: Leaf, { type, value }: FilterColumn): SqlFragment {
  switch (leaf.kind) {
    case 'anyOf':
      return anyOfSql(type, value, leaf.values)
    case 'order':
      return orderSql(type, value, ORDERED[leaf.operator], leaf.value)
    case 'like':
      return leaf.caseSensitive
        ? sql`${textOf(type, value)} ~ ${leaf.pattern}`
        : sql`${textOf(type, value)} ~* ${leaf.pattern}`
    case 'exists':
      return sql`(${value}) is not null`
    case 'inside':
      return sql`(${value}) <@ ${`(${leaf.ring.map(([x, y]) => `(${x},${y})`).join(',')})`}::polygon`
  }
}

function anyOfSql(type: FieldType, value: SqlFragment, values: readonly FilterValue[]): SqlFragment {
  switch (type) {
    case 'number':
      return sql`(${value}) = any(${values}::float8[])`
    case 'boolean':
      return sql`(${value}) = any(${values}::boolean[])`
    case 'date':
      return sql`(${value}) = any(${values.map(instant)}::timestamptz[])`
    case 'any':
      return sql`(${value}) = any(${values.flatMap(sameAs).map(each => JSON.stringify(each))}::jsonb[])`
    default:
      return sql`(${value}) = any(${values}::text[])`
  }
}

function orderSql(type: FieldType, value: SqlFragment, operator: SqlFragment, bound: FilterValue): SqlFragment {
  switch (type) {
    case 'number':
      return sql`(${value}) ${operator} ${bound}::float8`
    case 'date':
      return sql`(${value}) ${operator} ${instant(bound)}::timestamptz`
    case 'any': {
      const number = numberIn(bound)
      if (number === undefined) {
        return sql`(case jsonb_typeof(${value}) when 'string' then (${value}) #>> '{}' end) ${operator} ${String(bound)}`
      }
      return sql`(case jsonb_typeof(${value}) when 'number' then (${value})::numeric end) ${operator} ${number}::numeric`
    }
    default:
      return sql`(${value}) ${operator} ${bound}::text`
  }
}

/** What a value reads as: what `like` looks at, and what a spreadsheet is given. */
export function textOf(type: FieldType, value: SqlFragment): SqlFragment {
  switch (type) {
    case 'text':
      return sql`(${value})`
    case 'date':
      return sql`to_char((${value}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    case 'any':
      return sql`((${value}) #>> '{}')`
    default:
      return sql`(${value})::text`
  }
}

function instant(value: FilterValue): Date {
  return new Date(Number(value))
}

function numberIn(value: FilterValue): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^[+-]?\d{1,20}(\.\d{1,20})?$/.test(value) ? Number(value) : undefined
}

/** Clients write numbers and booleans as text, too: each is looked for as what it may be. */
function sameAs(value: FilterValue): FilterValue[] {
  const number = numberIn(value)
  if (typeof value !== 'string') return [value]
  if (number !== undefined) return [value, number]
  return value === 'true' || value === 'false' ? [value, value === 'true'] : [value]
}
