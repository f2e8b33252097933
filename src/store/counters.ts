/**
 * A job's counters: deltas written in the transaction they count, folded into one row per job by any node.
 * A read is the row plus the deltas not folded yet, in one snapshot.
 */
import { COUNTERS, type Counter, type Counters, FINAL_COUNTERS, noCounters } from '../domain/counters.ts'
import type { Queryable } from './database.ts'
import { render, type SqlFragment, sql, statement } from './statement.ts'

const columns = COUNTERS.join(', ')

/** Sums of changes, by job, gathered in memory before they are written. */
export class CounterDeltas {
  readonly #byJob = new Map<bigint, Counters>()

  /** One operation, or `by` of them, leaves a counter (null: it is new) and enters another (null: it is gone). */
  move(job: bigint, from: Counter | null, to: Counter | null, by = 1): void {
    if (from === to || by === 0) return
    let counters = this.#byJob.get(job)
    if (!counters) {
      counters = noCounters()
      this.#byJob.set(job, counters)
    }
    if (from) counters[from] -= by
    if (to) counters[to] += by
  }

  entries(): [bigint, Counters][] {
    return [...this.#byJob].filter(([, counters]) => COUNTERS.some(counter => counters[counter] !== 0))
  }
}

const insertDeltas = statement<unknown, [bigint[], ...number[][]]>(
  'counters_insert_deltas',
  `insert into job_counter_delta (job, ${columns})
   select * from unnest($1::bigint[], ${COUNTERS.map((_, i) => `$${i + 2}::int[]`).join(', ')})`,
)

/** Writes the gathered deltas, one row per job. */
export async function writeDeltas(db: Pick<Queryable, 'run'>, deltas: CounterDeltas): Promise<void> {
  const entries = deltas.entries()
  if (entries.length === 0) return
  await db.run(insertDeltas, [
    entries.map(([job]) => job),
    ...COUNTERS.map(counter => entries.map(([, counters]) => counters[counter])),
  ])
}

const takeDeltas = statement<{ job: bigint } & Counters, [number, bigint[]]>(
  'counters_take_deltas',
  `with taken as (
     delete from job_counter_delta
      where ctid = any(array(select ctid from job_counter_delta where job <> all($2::bigint[]) limit $1 for update skip locked))
     returning *
   )
   select job, ${COUNTERS.map(counter => `sum(${counter})::int as ${counter}`).join(', ')} from taken group by job`,
)

/** Takes at most `limit` deltas of other jobs than these, summed by job; they must be added in the same transaction. */
export function takeCounterDeltas(
  db: Queryable,
  limit: number,
  except: readonly bigint[],
): Promise<({ job: bigint } & Counters)[]> {
  return db.run(takeDeltas, [limit, [...except]])
}

const note = statement<unknown, [bigint[]]>(
  'counters_note',
  'insert into job_counter_delta (job) select * from unnest($1::bigint[])',
)

/** Has the next fold look at jobs though nothing of them was counted. */
export async function noteJobs(db: Queryable, jobs: readonly bigint[]): Promise<void> {
  if (jobs.length > 0) await db.run(note, [[...jobs]])
}

const lockCounters = statement<unknown, [bigint[]]>(
  'counters_lock',
  'select job from job_counter where job = any($1::bigint[]) order by job for update',
)
const addDeltas = statement<{ job: bigint; revision: bigint } & Counters, [bigint[], ...number[][]]>(
  'counters_add_deltas',
  `insert into job_counter as c (job, ${columns}, revision)
   select i.*, 1 from unnest($1::bigint[], ${COUNTERS.map((_, i) => `$${i + 2}::int[]`).join(', ')}) as i
   on conflict (job) do update set
     ${COUNTERS.map(counter => `${counter} = c.${counter} + excluded.${counter}`).join(', ')}, revision = c.revision + 1
   returning c.job, c.revision, ${COUNTERS.map(counter => `c.${counter}`).join(', ')}`,
)

/** Adds taken deltas to the counter rows, locked in job order first; answers the rows as they are then. */
export async function addCounterDeltas(
  db: Queryable,
  sums: readonly ({ job: bigint } & Counters)[],
): Promise<({ job: bigint; revision: bigint } & Counters)[]> {
  if (sums.length === 0) return []
  const ordered = [...sums].sort((a, b) => (a.job < b.job ? -1 : 1))
  const jobs = ordered.map(sum => sum.job)
  const [, added] = await Promise.all([
    db.run(lockCounters, [jobs]),
    db.run(addDeltas, [jobs, ...COUNTERS.map(counter => ordered.map(sum => sum[counter]))]),
  ])
  return added
}

const each = (made: (counter: SqlFragment) => SqlFragment): SqlFragment =>
  sql.join(COUNTERS.map(counter => made(sql.identifier(counter, COUNTERS))))

/** The exact counters of `job j`, as a join: the folded row and the deltas beside it, read in one snapshot. */
export const exactCounters: SqlFragment = sql`lateral (
  select ${each(counter => sql`coalesce(sum(${counter}), 0)::int as ${counter}`)}
    from (select ${each(counter => counter)} from job_counter c where c.job = j.job
          union all select ${each(counter => counter)} from job_counter_delta d where d.job = j.job) both_kinds
) counters`

const sumOf = (names: readonly Counter[]): SqlFragment =>
  sql.join(
    names.map(name => sql`counters.${sql.identifier(name, COUNTERS)}`),
    sql` + `,
  )

/** How many operations of a job are open, and how many have ended, by its `counters`. */
export const OPERATIONS_COUNTED = {
  open: sumOf(COUNTERS.filter(counter => !FINAL_COUNTERS.includes(counter))),
  ended: sumOf(FINAL_COUNTERS),
}

/** The same for declared statements. */
export const exactCountersSql = render(exactCounters).text

const recount = statement<{ job: bigint; counter: Counter; count: number }, [bigint[]]>(
  'counters_recount',
  `select job, counter, count(*)::int as count from (
     select o.job, case o.status when 'PENDING' then 'scheduled' when 'WAITING_FOR_CONNECTION' then 'waiting_for_connection'
                                 when 'IN_PROGRESS' then 'started' else 'pending_execution' end as counter
       from operation o where o.job = any($1::bigint[])
     union all select e.job, e.counter::text from operation_ended e where e.job = any($1::bigint[])) rows
   group by job, counter`,
)

/** Counts the rows themselves: what the counters must equal in every snapshot. */
export async function recountJobs(db: Queryable, jobs: readonly bigint[]): Promise<Map<bigint, Counters>> {
  const counted = new Map(jobs.map(job => [job, noCounters()]))
  for (const { job, counter, count } of await db.run(recount, [[...jobs]])) counted.get(job)![counter] = count
  return counted
}
