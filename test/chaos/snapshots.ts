/**
 * What the rows of a run's database must be in every snapshot, looked at again and again while it runs: counters that are the recount of
 * the operations, no operation launched twice, and ends that stay. It only reads.
 */
import type { Client } from 'pg'
import { COUNTERS } from '../../src/domain/counters.ts'

export interface Snapshots {
  /** Looks once, in one snapshot. Fails where the database does. */
  look(client: Client): Promise<void>
  /** Looks at every end there is: also those of jobs that have long ended. */
  lookAtAllEnds(client: Client): Promise<void>
  /** what was found wrong so far */
  readonly wrong: readonly string[]
  /** ends seen to turn into ones out of time */
  lateEnds(): number
}

/** Of so many jobs, the newest, every end is looked at: older ones get no answers any more. */
const RECENT_JOBS = 12
/** A look at the ends reads them all, and not at every look at the counters. */
const ENDS_EVERY = 4
const TOLD_MAX = 20

const COUNTERS_SQL = `
  with rows as (
    select job, counter, count(*)::int as count from (
      select job, case status when 'PENDING' then 'scheduled' when 'WAITING_FOR_CONNECTION' then 'waiting_for_connection'
                              when 'IN_PROGRESS' then 'started' else 'pending_execution' end as counter from operation
      union all select job, counter::text from operation_ended) every group by 1, 2
  ), counted as (
    select c.job, k.counter, sum(k.count)::int as count
      from (select job, ${COUNTERS.join(', ')} from job_counter union all select job, ${COUNTERS.join(', ')} from job_counter_delta) c
     cross join lateral (values ${COUNTERS.map(counter => `('${counter}', c.${counter})`).join(', ')}) k(counter, count)
     group by 1, 2
  )
  select to_hex(job) as job, counter, coalesce(counted.count, 0) as counted, coalesce(rows.count, 0) as rows
    from counted full join rows using (job, counter)
   where coalesce(counted.count, 0) <> coalesce(rows.count, 0) limit 5`

const TWICE_SQL = `
  select count(*)::int as count from (
    select from operation o join job j on j.job = o.job
     where o.status in ('QUEUED', 'WAITING_FOR_ACK', 'WAITING_FOR_CONNECTION', 'IN_PROGRESS')
     group by o.partition, o.entity, j.name having count(*) > 1) twice`

const endsOf = (jobs: string) => `
  select job::text || '/' || partition || '/' || entity as operation, status::text || ' ' || result::text as end
    from operation_ended where job in (${jobs})`

export function createSnapshots(): Snapshots {
  const wrong: string[] = []
  const ends = new Map<string, string>()
  let looks = 0
  let late = 0

  function tell(what: string): void {
    if (wrong.length < TOLD_MAX) wrong.push(what)
  }

  function compare(rows: readonly { operation: string; end: string }[]): void {
    for (const { operation, end } of rows) {
      const before = ends.get(operation)
      ends.set(operation, end)
      if (before === undefined || before === end) continue
      // What a device says when its operation is over, and nothing else, changes how it ended: once.
      if (/^(TIMEOUT_CANCELLED|CANCELLED) /.test(before) && end.startsWith('FINISHED_OUT_OF_TIME ')) late += 1
      else tell(`1: ${operation} had ended ${before}, and then ${end}`)
    }
  }

  return {
    wrong,
    lateEnds: () => late,
    async look(client) {
      await client.query('begin isolation level repeatable read read only')
      const { rows: different } = await client.query(COUNTERS_SQL)
      const { rows: twice } = await client.query<{ count: number }>(TWICE_SQL)
      const recent = endsOf(`select job from job order by job desc limit ${RECENT_JOBS}`)
      const { rows: ended } = looks % ENDS_EVERY === 0 ? await client.query(recent) : { rows: [] }
      await client.query('commit')
      looks += 1
      for (const each of different) tell(`2: while it ran: ${JSON.stringify(each)}`)
      if (twice[0]!.count > 0) tell(`4: ${twice[0]!.count} entities have two launched operations of one name`)
      compare(ended)
    },
    async lookAtAllEnds(client) {
      const { rows } = await client.query(endsOf('select job from job'))
      compare(rows)
      const now = new Set(rows.map(({ operation }) => operation))
      const gone = [...ends.keys()].filter(operation => !now.has(operation))
      if (gone.length > 0) tell(`1: ${gone.length} operations had ended and have not any more, ${gone[0]}`)
    },
  }
}
