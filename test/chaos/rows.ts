/** What the rows of a run's database must be when everything has ended. It only reads. */
import type { Client } from 'pg'
import type { Story } from './stories.ts'

/** Clocks of nodes agree to within what a measurement over a busy connection can err. */
const CDATED_MS = 500

/**
 * Operations are dated by when the turn began that launched or ended them, and it may have waited for a connection, for locks, and been
 * repeated: no longer than a statement may take, and a little.
 */
const DATED_MS = 35_000

/** Rows that an organization would see of another, or keep from it: each has its own beside that of the job. */
const OF_ANOTHER = {
  'ended operations':
    'select count(*) from operation_ended e join job j on j.job = e.job where e.organization <> j.organization',
  'entities of ended operations': `select count(*) from operation_ended o join job j on j.job = o.job
     join entity e on e.partition = o.partition and e.entity = o.entity where e.organization <> j.organization`,
  'entities of open operations': `select count(*) from operation o join job j on j.job = o.job
     join entity e on e.partition = o.partition and e.entity = o.entity where e.organization <> j.organization`,
  deliveries: 'select count(*) from delivery d join job j on j.job = d.job where d.organization <> j.organization',
} as const

/** Looks at everything once all has ended. */
export async function judgeRowsAtTheEnd(
  client: Client,
  stories: readonly Pick<Story, 'id' | 'kind' | 'closed'>[],
): Promise<string[]> {
  const wrong: string[] = []
  const none = async (what: string, text: string, values: unknown[] = []) => {
    const { rows } = await client.query<{ count: number }>(text, values)
    const count = Number(rows[0]?.count ?? 0)
    if (count > 0) wrong.push(`${what}: ${count}`)
  }
  for (const table of ['operation', 'operation_detail', 'operation_live', 'operation_ready', 'job_counter_delta']) {
    await none(`1: rows left in ${table}`, `select count(*) from ${table}`)
  }
  await none(
    '1: jobs that are not final',
    `select count(*) from job where status not in ('FINISHED', 'FINISHED_WITH_ERRORS', 'CANCELLED', 'TIMEOUT_CANCELLED')`,
  )
  await none(
    '5: attempts beyond retries + 1',
    'select count(*) from operation_ended e join job j on j.job = e.job where e.attempt > j.retries + 1',
  )
  // A late answer dates the end anew, after the slot was free again; and which of two came first is not told by when their launch began.
  // What devices saw is judged to the millisecond, and tells of less.
  const { rows: overlapping } = await client.query(
    `select * from (
       select to_hex(e.job) as job, to_hex(e.entity) as entity, j.name, e.status, e.result, e.attempt, e.started_at, e.ended_at,
              lead(to_hex(e.job)) over w as next, lead(e.started_at) over w as next_started_at,
              lead(e.ended_at) over w as next_ended_at, lead(e.status) over w as next_status
         from operation_ended e join job j on j.job = e.job where e.started_at is not null
       window w as (partition by e.partition, e.entity, j.name order by e.started_at)) x
      where x.status <> 'FINISHED_OUT_OF_TIME' and x.next_status <> 'FINISHED_OUT_OF_TIME'
        and x.next_started_at < x.ended_at - make_interval(secs => $1) and x.started_at < x.next_ended_at - make_interval(secs => $1)`,
    [DATED_MS / 1_000],
  )
  for (const row of overlapping) wrong.push(`4: operations of one name on one entity overlap: ${JSON.stringify(row)}`)
  for (const { id, kind, closed } of stories) {
    for (const { why, from, to } of closed) {
      await none(
        `3: operations of the ${kind} job ${id} first launched while it was ${why}`,
        `select count(*) from operation_ended where job = $1 and started_at > to_timestamp($2) and started_at < to_timestamp($3)`,
        [BigInt(`0x${id}`).toString(), (from + CDATED_MS) / 1_000, to === null ? 1e11 : (to - CDATED_MS) / 1_000],
      )
    }
  }
  for (const [what, text] of Object.entries(OF_ANOTHER))
    await none(`8: ${what} of another organization than their job`, text)
  const { rows } = await client.query<{ count: number }>('select count(*)::int as count from job')
  if (rows[0]?.count !== stories.length) wrong.push(`6: ${rows[0]?.count} jobs, and ${stories.length} were asked for`)
  await none('7: deliveries that are not delivered', `select count(*) from delivery where state <> 'DELIVERED'`)
  return wrong
}
