/** A client's filter over entities as a condition of SQL over `entity e`. Refuses to run it. Serves: Target (`filter`). */
import { type FilterOptions, parseFilter } from '../domain/filter.ts'
import type { Queryable, Transaction } from './database.ts'
import { knownDatastreams } from './datastreams.ts'
import { entityTable } from './entity-table.ts'
import { filterSql } from './filter-sql.ts'
import { tryPatterns } from './patterns.ts'
import { fieldTypesOf } from './search-table.ts'
import type { SqlFragment } from './statement.ts'

/** Most ids of its own that a filter can name. */
const FIELDS_MAX = 500

/** Every text in a filter that could be the name of a field: those are looked up at once, before the filter is read. */
function possibleFields(json: unknown, found = new Set<string>()): Set<string> {
  if (found.size >= FIELDS_MAX || typeof json !== 'object' || json === null) return found
  for (const [name, value] of Object.entries(json)) {
    if (!Array.isArray(json)) found.add(name)
    possibleFields(value, found)
  }
  return found
}

/**
 * Reads a filter against the ids that an organization knows and makes a condition of it. Throws a DroverError naming the field that
 * is unknown or the part that is wrong.
 */
export async function compileEntityFilter(
  db: Queryable,
  organization: number,
  json: unknown,
  options: FilterOptions = {},
): Promise<SqlFragment> {
  return (await read(db, organization, json, options)).condition
}

/** The same for a filter that a client waits for: its regular expressions are tried, and throw what `tryPatterns` does. */
export async function compileTriedFilter(
  tx: Transaction,
  organization: number,
  json: unknown,
  options: FilterOptions = {},
): Promise<SqlFragment> {
  const { filter, condition } = await read(tx, organization, json, options)
  await tryPatterns(tx, filter)
  return condition
}

async function read(db: Queryable, organization: number, json: unknown, options: FilterOptions) {
  const known = new Set(await knownDatastreams(db, organization, [...possibleFields(json)]))
  const table = entityTable(organization, known)
  const filter = parseFilter(json, fieldTypesOf(table), options)
  return { filter, condition: filterSql(filter, table.find) }
}
