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

interface Read {
  /** rows read by going through the table from one end to the other */
  readonly through: number
  /** entries read of its indexes */
  readonly entries: number
}

/** Cancels a job, part of which is launched; answers how much was read of each table for it. */
async function readByCancelling(count: number): Promise<Record<string, Read>> {
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
  const since = (table: string, what: keyof Read) => after[table]![what] - before[table]![what]
  return Object.fromEntries(
    TABLES.map(table => [table, { through: since(table, 'through'), entries: since(table, 'entries') }]),
  )
}

async function readSoFar(): Promise<Record<string, Read>> {
  await database.executeSql('select pg_stat_force_next_flush()')
  const { rows } = await database.executeSql(
    `select t.relname as table, t.seq_tup_read::float8 as through, sum(i.idx_tup_read)::float8 as entries
       from pg_stat_user_tables t join pg_stat_user_indexes i using (relid)
      where t.relname = any($1) group by t.relname, t.seq_tup_read`,
    [TABLES],
  )
  return Object.fromEntries(
    (rows as unknown as (Read & { table: string })[]).map(({ table, ...read }) => [table, read]),
  )
}

test.each([
  ['without a page', ''],
  ['with the pages of a large job before it', ', truncate false'],
])(
  'cancelling a job goes through no table, and reads little more than the job has, where they were empty and %s',
  async (_case, option) => {
    await database.executeSql(`vacuum (analyze${option}) ${TABLES.join(', ')}`)
    for (let time = 0; time < TIMES_PLANNED_ANEW; time += 1) await readByCancelling(10)
    const read = await readByCancelling(LARGE)
    for (const { through } of Object.values(read)) expect(through).toBe(0)
    // Two lanes look for what is there, and each passes over some of what is gone.
    expect(read.operation!.entries).toBeLessThan(LARGE * 3)
    expect(read.operation_ready!.entries).toBeLessThan(LARGE * 3)
    expect(read.operation_live!.entries).toBeLessThan(LAUNCHED * 2)
  },
)
