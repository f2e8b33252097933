/**
 * The yardstick of the engine: the row changes of whole operations as bare set-based SQL, each batch one statement of its own
 * transaction, with live, ready, timer, delta and ended rows. No rows are read back to be decided, nothing is guarded.
 */
import pg from 'pg'
import { LANES } from '../src/engine/operation-gatherer.ts'
import type { Database } from '../src/store/database.ts'
import { sql } from '../src/store/statement.ts'
import type { BenchPostgres } from './postgres.ts'
import { databaseSeconds } from './processes.ts'

/** Operations in one statement. */
export const BATCH = 500
/** As many as the engine writes with: its lanes, and its dispatcher. */
export const CONNECTIONS = LANES + 1
const JOB = 1

const keys = 'unnest($1::smallint[], $2::bigint[]) as k(partition, entity)'
const delta = (from: string, to: string, source: string) =>
  `insert into job_counter_delta (job, ${from === '' ? '' : `${from}, `}${to})
   select ${JOB}, ${from === '' ? '' : '-count(*), '}count(*) from ${source} having count(*) > 0`
const timer = (duty: string, source: string) =>
  `insert into operation_timer (due_at, duty, node, jobs, partitions, entities)
   select date_trunc('second', now()) + interval '600 s', '${duty}', 1, array_agg(${JOB}::bigint), array_agg(partition), array_agg(entity)
     from ${source}`
const update = (set: string) =>
  `update operation o set ${set} from ${keys} where o.job = ${JOB} and o.partition = k.partition and o.entity = k.entity
   returning o.partition, o.entity`

/** One statement per change of a lifecycle, over a batch of keys. */
const changes = [
  `with made as (insert into operation (job, partition, entity) select ${JOB}, partition, entity from ${keys} returning partition, entity),
        ready as (insert into operation_ready (job, place, partition, entity) select ${JOB}, entity, partition, entity from made)
   ${delta('', 'scheduled', 'made')}`,
  `with claimed as (delete from operation_ready r using ${keys}
                     where r.job = ${JOB} and r.place = k.entity::int and r.partition = k.partition and r.entity = k.entity
                    returning r.partition, r.entity),
        live as (insert into operation_live (partition, entity, name, job)
                 select partition, entity, 'REBOOT_EQUIPMENT', ${JOB} from claimed order by partition, entity on conflict do nothing),
        moved as (update operation o set status = 'QUEUED', attempt = 1, started_at = now(), launched_at = now(), sender = 1
                    from claimed k where o.job = ${JOB} and o.partition = k.partition and o.entity = k.entity),
        armed as (${timer('send', 'claimed')})
   ${delta('scheduled', 'pending_execution', 'claimed')}`,
  `with moved as (${update(`status = 'WAITING_FOR_ACK', flow = 'http', heard_at = now(), deadline_at = now()`)})
   ${timer('deadline', 'moved')}`,
  `with moved as (${update(`status = 'IN_PROGRESS', heard_at = now(), deadline_at = now()`)}), armed as (${timer('deadline', 'moved')})
   ${delta('pending_execution', 'started', 'moved')}`,
  update(`heard_at = now(), steps = '[{"name":"REBOOT","result":"SUCCESSFUL"}]'`),
  `with gone as (delete from operation o using ${keys} where o.job = ${JOB} and o.partition = k.partition and o.entity = k.entity
                 returning o.*),
        freed as (delete from operation_live l using gone g where l.partition = g.partition and l.entity = g.entity),
        ended as (insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, flow, started_at, ended_at, steps)
                  select job, partition, entity, 1, 'FINISHED', 'SUCCESSFUL', 'successful', attempt, flow, started_at, now(), steps
                    from gone)
   ${delta('started', 'successful', 'gone')}`,
]

/** Whole operations per second. Batches go through their changes one after the other, on as many connections as the engine has lanes. */
export async function limitRun(
  database: Database,
  postgres: BenchPostgres,
  operations: number,
): Promise<{ perSecond: number; databaseMs: number }> {
  await database.query(sql`insert into organization (name, created_at) values ('drover', now())`)
  const batches = Array.from({ length: Math.ceil(operations / BATCH) }, (_, batch) =>
    Array.from({ length: Math.min(BATCH, operations - batch * BATCH) }, (_, i) => batch * BATCH + i),
  )
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const client = new pg.Client(postgres.url)
      await client.connect()
      return client
    }),
  )
  try {
    const before = databaseSeconds(postgres.pid)
    const startedAt = performance.now()
    const waiting = batches.values()
    await Promise.all(
      clients.map(async client => {
        for (const batch of waiting) {
          const values = [`{${batch.map(entity => entity % 256).join(',')}}`, `{${batch.join(',')}}`]
          for (const [i, text] of changes.entries()) await client.query({ name: `change_${i}`, text, values })
        }
      }),
    )
    const perSecond = (operations / (performance.now() - startedAt)) * 1000
    return { perSecond, databaseMs: ((databaseSeconds(postgres.pid) - before) * 1000) / operations }
  } finally {
    await Promise.all(clients.map(client => client.end()))
  }
}
