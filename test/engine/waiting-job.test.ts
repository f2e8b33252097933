/** A job that waits for its task and is taken back leaves nothing, for its number is given to the next one. */
import { expect, test } from 'vitest'
import { addCounterDeltas, takeCounterDeltas } from '../../src/store/counters.ts'
import { sql } from '../../src/store/statement.ts'
import { removeWaitingJob } from '../../src/store/tasks.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)

test('also where its counters are being folded for the first time', async () => {
  await bench.provision(['d'])
  const target = { append: { entities: ['d'] } }
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target, active: false }))
  let removing: Promise<unknown> = Promise.resolve()
  await database.transaction(async folding => {
    await addCounterDeltas(folding, await takeCounterDeltas(folding, 100, []))
    const [{ me } = { me: 0 }] = await folding.query<{ me: number }>(sql`select pg_backend_pid() as me`)
    removing = database.transaction(tx => removeWaitingJob(tx, job))
    await expect
      .poll(() => database.query(sql`select pid from pg_stat_activity where ${me} = any(pg_blocking_pids(pid))`))
      .toHaveLength(1)
  })
  await removing
  expect(await database.query(sql`select from job_counter union all select from job_counter_delta`)).toEqual([])
})
