/**
 * What one field of a search is, and a table of them: every documented name leads to one column of SQL, its type, the joins it
 * needs and where it stands in the row that clients read. It holds no field itself and runs nothing.
 */
import type { FieldType, FilterValue } from '../domain/filter.ts'
import type { FilterColumn } from './filter-sql.ts'
import { type SqlFragment, sql } from './statement.ts'

/** One field, known by all its names. */
export interface SearchField extends FilterColumn {
  /** the first is the interface's own */
  readonly names: readonly string[]
  /** where it stands in the row of its GET; absent where the row does not show it */
  readonly path?: string
  /** that no column of a table of every field is for it: others tell what it holds, or it tells a part of another */
  readonly noColumn?: true
  /** joins that the value needs beside the base table */
  readonly needs: readonly string[]
  /** what is sorted by where it is not the value */
  readonly sort?: SqlFragment
  /** the whole value, jsonb, of a field of many values */
  readonly all?: SqlFragment
  /** whether equality is answered from an index; everything else is bounded by the time a search may take */
  readonly indexed: boolean
  /** of a field of operations: whether all operations of a job have the same value */
  readonly ofJob?: boolean
}

/** What a field may have beside names, type and value. */
export type FieldTraits = Partial<Omit<SearchField, 'names' | 'type' | 'value'>>

/** Makes a field; the names that we gave are written with spaces between them, those that clients gave may hold some. */
export function field(
  type: FieldType,
  names: string | readonly string[],
  value: SqlFragment,
  traits: FieldTraits = {},
): SearchField {
  return {
    type,
    names: typeof names === 'string' ? names.split(' ') : names,
    value,
    needs: [],
    indexed: false,
    ...traits,
  }
}

/** The field of an object, jsonb: its members are fields of their own, and it is asked whether it is there. */
export function object(names: string, value: SqlFragment): SearchField {
  return field('any', names, sql`nullif(${value}, 'null')`, { noColumn: true })
}

/** The paths that lead to these and are not among them. */
export function pathsAbove(paths: readonly string[]): string[] {
  const above = paths.flatMap(path => [...path.matchAll(/\./g)].map(({ index }) => path.slice(0, index)))
  return [...new Set(above)].filter(path => !paths.includes(path))
}

/** Fields by every name. A name that stands twice is a fault of the program, and throws. */
export function fieldTable(fields: readonly SearchField[]): ReadonlyMap<string, SearchField> {
  const table = new Map<string, SearchField>()
  for (const each of fields) {
    for (const name of each.names) {
      if (table.has(name)) throw new Error(`the field ${name} stands twice`)
      table.set(name, each)
    }
  }
  return table
}

/** A field whose values are the elements of a jsonb array. */
export function elements(array: SqlFragment): Pick<SearchField, 'some' | 'all'> {
  return {
    some: condition => sql`exists (select 1 from jsonb_array_elements(case jsonb_typeof(${array}) when 'array' then ${array} end)
                                   as element where ${condition})`,
    all: array,
  }
}

/** Equality with words of a fixed list: what is no such word occurs nowhere. */
export function words(
  known: readonly string[],
  equality: (found: readonly string[]) => SqlFragment,
  inequality?: (found: readonly string[]) => SqlFragment,
): Pick<SearchField, 'anyOf' | 'noneOf'> {
  const among = (values: readonly FilterValue[]) => values.map(String).filter(value => known.includes(value))
  return {
    anyOf: values => equality(among(values)),
    ...(inequality && { noneOf: (values: readonly FilterValue[]) => inequality(among(values)) }),
  }
}

/** Equality of an id that is a number within: what is no id occurs nowhere. */
export function ids<Key>(
  parse: (text: string) => Key | undefined,
  equality: (keys: readonly Key[]) => SqlFragment,
): Pick<SearchField, 'anyOf' | 'indexed'> {
  return {
    anyOf: (values: readonly FilterValue[]) =>
      equality(values.map(value => parse(String(value))).filter(key => key !== undefined)),
    indexed: true,
  }
}
