/**
 * The jobs in which an operation on an entity ended without success: what a job that tries again is aimed by. A value is the id of a
 * job, or that id and what the operation is counted as, `00000000000000aa/byTimeout`: what a user cancelled need not be tried again.
 */
import type { Counter } from '../domain/counters.ts'
import type { FilterValue } from '../domain/filter.ts'
import { parseJobId } from '../domain/identity.ts'
import { COUNTERS_OF_SUCCESS, ENDED_COUNTERS } from './ended-counters.ts'
import { field } from './search-field.ts'
import { type SqlFragment, sql } from './statement.ts'

/** The ways not to succeed in a job: all of them, or those that are named. */
type Ways = ReadonlyMap<bigint, 'all' | readonly Counter[]>

const counterNamed = (name: string): Counter | undefined =>
  Object.hasOwn(ENDED_COUNTERS, name) && !COUNTERS_OF_SUCCESS.includes(name) ? ENDED_COUNTERS[name] : undefined

/** What is no id of a job, or no way not to succeed, occurs nowhere. */
function waysIn(values: readonly FilterValue[]): Ways {
  const ways = new Map<bigint, 'all' | readonly Counter[]>()
  for (const value of values) {
    const [id = '', name, ...more] = String(value).split('/')
    const job = parseJobId(id)
    const counter = name === undefined ? undefined : counterNamed(name)
    if (job === undefined || more.length > 0 || (name !== undefined && counter === undefined)) continue
    const known = ways.get(job) ?? []
    ways.set(job, counter === undefined || known === 'all' ? 'all' : [...known, counter])
  }
  return ways
}

const among = (ways: Ways): SqlFragment => {
  const whole = [...ways].flatMap(([job, counters]) => (counters === 'all' ? [job] : []))
  const parts = [...ways].flatMap(([job, counters]) =>
    counters === 'all'
      ? []
      : [sql`(unsuccessful.job = ${job}::bigint and unsuccessful.counter = any(${counters}::operation_counter[]))`],
  )
  if (whole.length > 0 || parts.length === 0) parts.push(sql`unsuccessful.job = any(${whole}::bigint[])`)
  return sql`(${sql.join(parts, sql` or `)})`
}

const withoutSuccess = (condition: SqlFragment): SqlFragment => sql`from operation_ended unsuccessful
  where ${condition} and unsuccessful.partition = e.partition and unsuccessful.entity = e.entity
    and unsuccessful.result <> 'SUCCESSFUL' and unsuccessful.counter not in ('successful', 'oot_successful')`

/** One `exists`, however many ways there are, so that it is answered from the index of what did not succeed. */
const some = (condition: SqlFragment): SqlFragment => sql`exists (select 1 ${withoutSuccess(condition)})`

const jobOf = sql`lpad(to_hex(unsuccessful.job), 16, '0')`

/** The field, over `entity e`. */
export const UNSUCCESSFUL_IN = field('text', 'operations.unsuccessfulIn', jobOf, {
  some,
  anyOf: values => some(among(waysIn(values))),
  all: sql`(select jsonb_agg(${jobOf} order by unsuccessful.job) ${withoutSuccess(sql`true`)})`,
  indexed: true,
})
