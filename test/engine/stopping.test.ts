/** A stop waits for no long statement: it is cancelled, nothing of it is kept, and the next start does it again. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { MINUTE, obedient, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
let condition = sql`true`
const bench = await createWorkbench(database, { compile: () => Promise.resolve(condition) })
const { caller, jobs, engine } = bench
bench.device = obedient()
await bench.provision(['d1'])

/** Starts a loop, waits until it is at what takes long, and stops it; answers how long that took. */
async function stoppedAt(name: string, what: string): Promise<number> {
  const loop = engine.loops.get(name)!
  loop.start()
  await expect
    .poll(() =>
      database.query(sql`select from pg_stat_activity
                          where datname = current_database() and state = 'active' and pid <> pg_backend_pid()
                            and (query like ${`%${what}%`} or wait_event_type = ${what})`),
    )
    .not.toEqual([])
  const from = performance.now()
  await loop.stop()
  return performance.now() - from
}

test('the target that was being resolved is resolved after the next start, and does not count as one that cannot be', async () => {
  condition = sql`(select pg_sleep(120)) is not null`
  const target = { filter: { eq: { 'provision.device.name': 'any' } } } as never
  const { job } = await jobs.create(caller, jobRequest({ target }))
  expect(await stoppedAt('target-resolver', 'pg_sleep')).toBeLessThan(5_000)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'SCHEDULED', resolveFailures: 0, total: 0 })
  condition = sql`true`
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', total: 1 })
})

test('the job that was being started is started after the next start', async () => {
  const schedule = { start: { delayed: MINUTE } }
  const { job } = await jobs.create(caller, jobRequest({ schedule, target: { append: { entities: ['d1'] } } } as never))
  await bench.clock.advanceTo(new Date(bench.clock.now().getTime() + 2 * MINUTE))
  await bench.beat()
  await database.transaction(async holding => {
    await holding.executeSql('lock table operation_ready in access exclusive mode')
    expect(await stoppedAt('job-keeper', 'Lock')).toBeLessThan(5_000)
  })
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'SCHEDULED' })
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', total: 1 })
})
