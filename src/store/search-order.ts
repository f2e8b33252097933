/**
 * In which order the rows of a search come, and the cursors that lead on in it. A cursor is of one order; where rows are sorted by other
 * fields than those of an index there is none.
 */
import { DroverError } from '../domain/errors.ts'
import type { SearchRequest } from '../domain/search.ts'
import type { SearchField } from './search-field.ts'
import type { KeyColumn, KeyOrder, SearchTable } from './search-table.ts'
import { type SqlFragment, sql } from './statement.ts'

/** The order of a search: what to sort by, and whether cursors can lead on in it. */
export interface SearchOrder {
  readonly by: SqlFragment
  readonly columns: readonly KeyColumn[]
  /** name and direction, as cursors carry them; undefined where rows are sorted by other fields */
  readonly cursorMark?: string
  readonly descending: boolean
}

/** The order that a search asks for; ties are broken by the key, so that pages do not overlap. */
export function orderOf(
  table: SearchTable<never>,
  { filter, sort }: SearchRequest,
  column: (name: string) => SearchField,
): SearchOrder {
  const [first] = sort
  if (first === undefined) return keyOrder(table.orderFor(filter), false)
  const name = column(first.field).names[0]
  const known = sort.length === 1 ? table.orders.find(order => order.field === name) : undefined
  if (known) return keyOrder(known, first.descending)
  const { columns } = table.orderFor(filter)
  const sorted = sort.map(({ field, descending }) => {
    const { sort: by, all, type, value } = column(field)
    const values = by ?? all ?? (type === 'location' ? sql`(${value})::text` : value)
    return descending ? sql`${values} desc nulls last` : sql`${values} asc nulls last`
  })
  return { by: sql.join([...sorted, ...columns.map(each => each.value)]), columns, descending: false }
}

function keyOrder({ name, columns }: KeyOrder, descending: boolean): SearchOrder {
  const by = sql.join(columns.map(({ value }) => (descending ? sql`${value} desc` : value)))
  return { by, columns, cursorMark: `${name}${descending ? '-' : '+'}`, descending }
}

/** The cursor behind a row; undefined where there is none in this order. */
export function cursorOf(key: unknown, { columns, cursorMark }: SearchOrder): string | undefined {
  if (cursorMark === undefined) return undefined
  const values = columns.map(({ name }) => (key as Readonly<Record<string, unknown>>)[name])
  const texts = values.map(value => (value instanceof Date ? value.toISOString() : String(value)))
  return Buffer.from(JSON.stringify([cursorMark, ...texts])).toString('base64url')
}

/** The condition that a row lies behind a cursor. Throws where the cursor is not of this order. */
export function seekSql(cursor: string, { columns, cursorMark, descending }: SearchOrder): SqlFragment {
  const [mark, ...texts] = readCursor(cursor)
  const values = columns.map(({ read }, index) => read(texts[index] ?? ''))
  const known = values.filter(value => value !== undefined)
  if (mark === undefined || mark !== cursorMark || texts.length !== columns.length || known.length !== columns.length) {
    throw new DroverError(
      'invalidField',
      [{ name: 'limit.cursor' }],
      'Invalid field: limit.cursor is none of this search.',
    )
  }
  const key = sql.join(columns.map(({ value }) => value))
  return descending ? sql`(${key}) < (${sql.join(known)})` : sql`(${key}) > (${sql.join(known)})`
}

/** The texts in a cursor; none where it is no cursor of ours. */
function readCursor(cursor: string): string[] {
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(read) ? read.map(String) : []
  } catch {
    return []
  }
}
