/**
 * Runs a search: the keys of one page in one order and how many pages there are, summaries by value, and chosen columns of rows. The
 * time of it all is bounded, and a search that takes longer is refused. It knows no field by name.
 */
import { DroverError } from '../domain/errors.ts'
import { type Filter, filterFields } from '../domain/filter.ts'
import type { SearchRequest } from '../domain/search.ts'
import { type Database, type Queryable, sqlState } from './database.ts'
import { filterSql, textOf } from './filter-sql.ts'
import { unreadablePattern } from './patterns.ts'
import type { SearchField } from './search-field.ts'
import { cursorOf, orderOf, seekSql } from './search-order.ts'
import type { RowsByJob, SearchTable } from './search-table.ts'
import { type SqlFragment, sql } from './statement.ts'

/** How long the statements of one search may take together; clients give up after five seconds. */
export const SEARCH_TIME_MAX_MS = 4_000
/** How long the server may take to find the rows of a stream. */
const STREAM_TIME_MAX_MS = 60_000
/** Rows that are counted exactly; beyond, the number of pages is the least there are. */
const SEARCH_COUNT_MAX = 100_000
/** Values that a summary lists for one field, most frequent first. */
const SUMMARY_VALUES_MAX = 1_000
/** Jobs by which operations are counted, which takes a small part of the time of a search; of more, the operations are gone through. */
export const SUMMARY_JOBS_MAX = 50_000

/** A page of what was found. `cursor` leads on where there is more. */
export interface FoundPage<Row> {
  readonly rows: readonly Row[]
  readonly number: number
  /** pages in all */
  readonly of: number
  readonly cursor?: string
}

/** How often the values of one field occur. */
export interface SummaryOfField {
  readonly field: string
  readonly count: number
  readonly list: readonly { readonly name: string; readonly count: number }[]
}

/** The columns that statements over a table use, and the joins that these need. */
interface Plan {
  column(name: string): SearchField
  readonly needs: ReadonlySet<string>
  from(): SqlFragment
  /** whether every column is the same for all operations of a job */
  isOfJobs(): boolean
}

function planOf(table: SearchTable<never>): Plan {
  const needs = new Set<string>()
  let ofJobs = true
  return {
    needs,
    column(name) {
      const found = table.find(name)
      if (!found) throw new Error(`the table has no field ${name}`)
      for (const need of found.needs) needs.add(need)
      ofJobs &&= found.ofJob === true
      return found
    },
    from: () => table.from(needs),
    isOfJobs: () => ofJobs,
  }
}

function matchingOf(filter: Filter, plan: Plan): SqlFragment {
  for (const name of filterFields(filter)) plan.column(name)
  return filterSql(filter, plan.column)
}

function conditionOf(table: SearchTable<never>, filter: Filter, plan: Plan): SqlFragment {
  return sql`${table.scope} and ${matchingOf(filter, plan)}`
}

type Ask = <Row>(fragment: SqlFragment) => Promise<Row[]>

/** Runs statements in one snapshot and within the time of a search. */
async function bounded<T>(
  database: Database,
  filter: Filter,
  work: (ask: Ask, tx: Queryable) => Promise<T>,
): Promise<T> {
  const endMs = performance.now() + SEARCH_TIME_MAX_MS
  try {
    return await database.transaction(
      tx =>
        work(async fragment => {
          const leftMs = Math.ceil(endMs - performance.now())
          if (leftMs <= 0) throw new DroverError('searchTooExpensive')
          await tx.query(sql`select set_config('statement_timeout', ${String(leftMs)}, true)`)
          return await tx.query(fragment)
        }, tx),
      { snapshot: true },
    )
  } catch (error) {
    throw searchRefusal(error, filter)
  }
}

/** What PostgreSQL refuses of a search: too long, too much, or a regular expression that it cannot read. */
function searchRefusal(error: unknown, filter: Filter): unknown {
  const unreadable = unreadablePattern(error, filter)
  if (unreadable) return unreadable
  const state = sqlState(error)
  // Cancelled after its time; or out of memory, disk or depth of stack.
  return state === '57014' || state?.startsWith('53') || state?.startsWith('54')
    ? new DroverError('searchTooExpensive')
    : error
}

/**
 * Finds a page; `read` then reads the rows that belong to its keys, in the same snapshot and in any order of its own. Throws
 * `searchTooExpensive` after `SEARCH_TIME_MAX_MS`, `invalidFilter` for a regular expression that is none, and `invalidField` for a
 * cursor that is not of this search.
 */
export function findPage<Key, Row>(
  database: Database,
  table: SearchTable<Key>,
  search: SearchRequest,
  read: (db: Queryable, keys: readonly Key[]) => Promise<readonly Row[]>,
): Promise<FoundPage<Row>> {
  const { number, size, cursor } = search.page
  return bounded(database, search.filter, async (ask, tx) => {
    const plan = planOf(table)
    const condition = conditionOf(table, search.filter, plan)
    const order = orderOf(table, search, plan.column)
    const seek = cursor === undefined ? sql`true` : seekSql(cursor, order)
    const key = order.columns.map(({ name, value }) => sql`${value} as ${sql.identifier(name, [name])}`)
    const found = await ask<Key>(sql`
      select ${sql.join(key)} from ${plan.from()} where ${condition} and ${seek} order by ${order.by}
      offset ${cursor === undefined ? (number - 1) * size : 0}::bigint limit ${size + 1}::int`)
    const keys = found.slice(0, size)
    const more = found.length > size
    const rows = keys.length > 0 ? await read(tx, keys) : []
    const of = more ? Math.max(number + 1, Math.ceil((await count(table, search.filter, ask)) / size)) : number
    const next = more ? cursorOf(keys.at(-1), order) : undefined
    return { rows, number, of, ...(next !== undefined && { cursor: next }) }
  })
}

async function count(table: SearchTable<never>, filter: Filter, ask: Ask): Promise<number> {
  const plan = planOf(table)
  const condition = conditionOf(table, filter, plan)
  const [row] = await ask<{ count: number }>(sql`
    select count(*)::int as count
      from (select 1 from ${plan.from()} where ${condition} limit ${SEARCH_COUNT_MAX}::int) counted`)
  return row?.count ?? 0
}

/** Counts what matches, and how often each value of each field occurs; values that are none are not listed. */
export function summarise(
  database: Database,
  table: SearchTable<never>,
  filter: Filter,
  fields: readonly string[],
): Promise<{ readonly count: number; readonly fields: readonly SummaryOfField[] }> {
  return bounded(database, filter, async ask => {
    const plan = planOf(table)
    const matching = matchingOf(filter, plan)
    const names = fields.map((_, index) => sql.identifier(`v${index}`, [`v${index}`]))
    const values = fields.map((field, index) => sql`${textOfField(plan.column(field))} as ${names[index]!}`)
    const { times, rows: counted } = await rowsToCount(table, filter, plan, matching, ask)
    const rows = await ask<{ set: number; name: string | null; count: number; total: number }>(sql`
      select set, name, count, total from (
        select set, name, count, (sum(count) over (partition by set))::int as total,
               row_number() over (partition by set order by count desc, name) as place
          from (select grouping(${sql.join(names)}) as set, coalesce(${sql.join(names)}) as name,
                       coalesce(sum(times), 0)::int as count
                  from (select ${sql.join(values)}, ${times} as times from ${counted}) matching
                 group by grouping sets ((), ${sql.join(names.map(name => sql`(${name})`))})) grouped
         where name is not null or set = ${2 ** fields.length - 1}::int) ranked
       where place <= ${SUMMARY_VALUES_MAX}::int order by set, place`)
    const all = rows.find(row => row.set === 2 ** fields.length - 1)
    return {
      count: all?.count ?? 0,
      fields: fields.map((field, index) => {
        const own = rows.filter(row => row.set === 2 ** fields.length - 1 - 2 ** (fields.length - 1 - index))
        return { field, count: own[0]?.total ?? 0, list: own.map(row => ({ name: row.name ?? '', count: row.count })) }
      }),
    }
  })
}

/**
 * What is counted, and how often each row of it counts: operations of which nothing but their jobs is asked by these, unless they are too
 * many.
 */
async function rowsToCount(
  table: SearchTable<never>,
  filter: Filter,
  plan: Plan,
  matching: SqlFragment,
  ask: Ask,
): Promise<{ readonly times: SqlFragment; readonly rows: SqlFragment }> {
  const { byJob } = table
  const areFew = async (rows: RowsByJob) => {
    const [row] = await ask<{ count: number }>(rows.jobs(SUMMARY_JOBS_MAX + 1))
    return (row?.count ?? 0) <= SUMMARY_JOBS_MAX
  }
  if (byJob && plan.isOfJobs() && (byJob.namesJobs(filter) || (await areFew(byJob)))) {
    return { times: sql`o.times`, rows: sql`${byJob.from(plan.needs)} where ${matching}` }
  }
  return { times: sql`1`, rows: sql`${plan.from()} where ${table.scope} and ${matching}` }
}

function textOfField(field: SearchField): SqlFragment {
  return field.all ? sql`((${field.all}) #>> '{}')` : textOf(field.type, field.value)
}

function jsonOfField(field: SearchField): SqlFragment {
  if (field.all) return sql`(${field.all})`
  return field.type === 'any'
    ? sql`(${field.value})`
    : sql`to_jsonb(${field.type === 'date' ? textOf('date', field.value) : field.value})`
}

/** Chosen fields of rows as JSON values, in the order of the keys; a field without a value is null. */
export async function readFields<Key extends object>(
  db: Queryable,
  table: SearchTable<Key>,
  keys: readonly Key[],
  fields: readonly string[],
): Promise<unknown[][]> {
  const plan = planOf(table)
  const values = sql.join(fields.map(field => jsonOfField(plan.column(field))))
  const columns = (table.orders[0]?.columns ?? []).map(
    ({ name, value }) => sql`${value} as ${sql.identifier(name, [name])}`,
  )
  const rows = await db.query<Key & { values: unknown[] }>(sql`
    select ${sql.join(columns)}, jsonb_build_array(${values}) as values from ${plan.from()} where ${table.among(keys)}`)
  const names = (table.orders[0]?.columns ?? []).map(({ name }) => name as keyof Key)
  const textOfKey = (key: Key) => names.map(name => String(key[name])).join('/')
  const byKey = new Map(rows.map(row => [textOfKey(row), row.values]))
  return keys.flatMap(key => {
    const found = byKey.get(textOfKey(key))
    return found ? [found] : []
  })
}

/**
 * Chosen fields of every row that matches, as texts, batch by batch in bounded memory. The first batch fails as `findPage` does.
 */
export async function* streamFields(
  database: Database,
  table: SearchTable<never>,
  search: SearchRequest,
  fields: readonly string[],
): AsyncGenerator<(string | null)[][], void, void> {
  const plan = planOf(table)
  const condition = conditionOf(table, search.filter, plan)
  const names = fields.map((_, index) => `c${index}`)
  const values = fields.map(
    (field, index) => sql`${textOfField(plan.column(field))} as ${sql.identifier(names[index]!, names)}`,
  )
  const order = orderOf(table, search, plan.column)
  const rows = database.stream<Record<string, string | null>>(
    sql`select ${sql.join(values)} from ${plan.from()} where ${condition} order by ${order.by}`,
    { timeoutMs: STREAM_TIME_MAX_MS },
  )
  try {
    for await (const batch of rows) yield batch.map(row => names.map(name => row[name] ?? null))
  } catch (error) {
    throw searchRefusal(error, search.filter)
  }
}
