/** A row of selected values, each where its path says. Refuses to know what was selected. Serves: Job and operation search (`select`). */

import { invalidField } from '../domain/refusal.ts'

/** One value and the members that lead to it. */
export interface PlacedValue {
  readonly path: readonly string[]
  readonly value: unknown
}

/** A column as it was selected: a field, the name that it was given, and where in the row it stands. */
export interface PlacedColumn {
  readonly field: string
  readonly alias: string
  readonly path: readonly string[]
}

/** Refuses an alias under which a value would hide another's; the same field may be asked for twice. */
export function judgeAliases(columns: readonly PlacedColumn[]): void {
  const aliased = columns.filter(({ field, alias }) => alias !== field)
  for (const column of aliased) {
    const other = columns.find(({ field, path }) => field !== column.field && path[0] === column.alias)
    if (other) throw invalidField(column.alias, `is an alias where ${other.field} stands already`)
  }
}

/** An object of the values; what is null or undefined is left out, and a value in the way of a longer path stays. */
export function nest(values: readonly PlacedValue[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const { path, value } of values) if (value !== null && value !== undefined) place(row, path, value)
  return row
}

function place(row: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name, ...rest] = path
  if (name === undefined) return
  const before = Object.hasOwn(row, name) ? row[name] : undefined
  if (rest.length === 0) {
    define(row, name, value)
    return
  }
  if (before === undefined) define(row, name, {})
  const inner = row[name]
  if (typeof inner === 'object' && inner !== null) place(inner as Record<string, unknown>, rest, value)
}

/** A client names the path: no name of it may reach a prototype. */
function define(row: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(row, name, { value, enumerable: true, configurable: true, writable: true })
}
