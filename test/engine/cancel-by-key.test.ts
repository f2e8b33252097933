/**
 * The tables of what is under way are empty one minute and full the next: cancelling a large job reads what it ends, whatever the server
 * made of them while they were empty, which is what it remembers.
 */
import { expect, test } from 'vitest'
import { testDatabase } from '../database.ts'
import { ids, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const LARGE = 12_000
const LAUNCHED = 3_000
const TABLES = ['operation', 'operation_ready', 'operation_live', 'operation_detail']
/** The server plans a statement anew for the first five times on a connection, then once and for all. */
const TIMES_PLANNED_ANEW = 6

// With one connection all statements are of it, and what was read is told at once.
const { database } = await testDatabase({ max: 1 })
const bench = await createWorkbench(database)
bench.device = silent
bench.capacity = LAUNCHED
const devices = ids('by-key', LARGE)
await bench.provision(devices)

/** Cancels a job, part of which is launched; answers how many rows and index entries were read of each table for it. */
async function readByCancelling(count: number): Promise<Record<string, number>> {
  const { job } = await bench.jobs.create(
    bench.caller,
    jobRequest({ target: { append: { entities: devices.slice(0, count) } } }),
  )
  const run = (loop: string) => bench.engine.loops.get(loop)!.runOnce(bench.clock.now())
  for (const loop of ['job-keeper', 'large-job-keeper']) await run(loop)
  for (bench.sent.length = 0; bench.sent.length < Math.min(count, LAUNCHED); ) await run('operation-dispatcher')
  await bench.jobs.cancel(bench.caller, job)
  const before = await readSoFar()
  while (await run('operation-canceller'));
  const after = await readSoFar()
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'CANCELLED', finished: { total: count } })
  return Object.fromEntries(TABLES.map(table => [table, after[table]! - before[table]!]))
}

async function readSoFar(): Promise<Record<string, number>> {
  await database.executeSql('select pg_stat_force_next_flush()')
  const { rows } = await database.executeSql(
    `select t.relname as table, (t.seq_tup_read + sum(i.idx_tup_read))::float8 as read
       from pg_stat_user_tables t join pg_stat_user_indexes i using (relid)
      where t.relname = any($1) group by t.relname, t.seq_tup_read`,
    [TABLES],
  )
  return Object.fromEntries(rows.map(({ table, read }) => [table, read]))
}

test.each([
  ['without a page', ''],
  ['with the pages of a large job before it', ', truncate false'],
])('cancelling a job reads twice what it has at most, where its tables were empty and %s', async (_case, option) => {
  await database.executeSql(`vacuum (analyze${option}) ${TABLES.join(', ')}`)
  for (let time = 0; time < TIMES_PLANNED_ANEW; time += 1) await readByCancelling(10)
  const read = await readByCancelling(LARGE)
  // Two lanes look for what is there, and the first of each passes over what is gone.
  expect(read.operation).toBeLessThan(LARGE * 2.1)
  expect(read.operation_ready).toBeLessThan(LARGE * 2.1)
  expect(read.operation_live).toBeLessThan(LAUNCHED * 2.1)
})
