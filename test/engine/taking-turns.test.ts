/** A large job beside small ones on one node: whatever takes long for it is done in turns, or apart, and nobody waits for the whole of it. */
import { afterAll, describe, expect, test } from 'vitest'
import { createTargetResolving } from '../../src/engine/target-resolver.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase } from '../database.ts'
import { cancelOpen, ids, SECOND, sentTo, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const LARGE = 22_000
const LONG_MS = 120_000
const { database, close } = await createTestDatabase({ statementTimeoutMs: LONG_MS })
afterAll(close)
const bench = await createWorkbench(database, { cancelAtOnceMax: 50 })
bench.device = silent
await bench.provision(ids('fleet', LARGE), { tags: ['fleet'] })
const { jobs, caller, clock } = bench
const run = (loop: string) => bench.engine.loops.get(loop)!.runOnce(clock.now())
const onFleet = async (active = true) =>
  (await jobs.create(caller, jobRequest({ active, target: { append: { tags: ['fleet'] } } }))).job
const onTag = async (tag: string) =>
  (await jobs.create(caller, jobRequest({ target: { append: { tags: [tag] } } }))).job
const totalOf = async (job: bigint) => (await summaryOfJob(bench, job)).total

/** Does something inside the next transaction, just before its commit. */
function beforeCommit(work: () => Promise<unknown>): void {
  const { transaction } = bench.database
  bench.database.transaction = (body, options) => {
    bench.database.transaction = transaction
    return transaction(async tx => {
      const done = await body(tx)
      await work()
      return done
    }, options)
  }
}

/** A job of one device whose start comes now, started by the job keeper, and sent. */
async function startsBeside(device: string): Promise<bigint> {
  await bench.provision([device])
  const schedule = { start: { delayed: SECOND } }
  const { job } = await jobs.create(caller, jobRequest({ schedule, target: { append: { entities: [device] } } }))
  await clock.advanceBy(SECOND)
  await bench.beat()
  bench.sent.length = 0
  await run('job-keeper')
  await run('operation-dispatcher')
  return job
}

describe('while the target of a large job is being resolved', () => {
  const resolve = createTargetResolving({
    database: bench.database,
    applicabilityOf: () => Promise.resolve({ resourceTypes: ['entity.device'], models: [] }),
    compile: () => Promise.resolve(sql`true`),
    onCommit: () => {},
    largeFrom: 100,
    atATime: 100,
  })
  const turn = () => resolve(clock.now(), new AbortController().signal)

  test(
    'a job of one device is resolved and sent before the large one goes on, and large ones take turns',
    async () => {
      const first = await onFleet()
      expect(await turn()).toEqual(clock.now())
      const soFar = await totalOf(first)
      expect(soFar).toBeGreaterThan(0)

      await bench.provision(['beside-resolving'], { tags: ['one'] })
      bench.sent.length = 0
      await onTag('one')
      await turn()
      await run('job-keeper')
      await run('operation-dispatcher')
      expect(sentTo(bench)).toEqual(['beside-resolving'])
      expect((await summaryOfJob(bench, first)).unresolved).not.toEqual([])
      expect(await totalOf(first)).toBeLessThan(LARGE / 2)

      const second = await onFleet()
      for (let i = 0; i < 8; i += 1) await turn()
      for (const job of [first, second]) expect((await summaryOfJob(bench, job)).unresolved).not.toEqual([])
      expect(Math.abs((await totalOf(first)) - (await totalOf(second)))).toBeLessThan(LARGE / 2)
      while ((await turn()) !== null);
      expect([await totalOf(first), await totalOf(second)]).toEqual([LARGE, LARGE])
      for (const job of [first, second]) await jobs.cancel(caller, job)
      await bench.settle()
    },
    LONG_MS,
  )
})

describe('while a large job is being moved', () => {
  const stand = async () => {
    const large = await onFleet(false)
    await bench.settle()
    await jobs.change(caller, large, { active: true })
    await run('job-keeper')
    expect(await summaryOfJob(bench, large)).toMatchObject({ status: 'SCHEDULED', total: LARGE })
    return large
  }

  test(
    'for its start, which gives every operation its place, a job of one device starts and is sent',
    async () => {
      const large = await stand()
      beforeCommit(async () => {
        await startsBeside('beside-ranking')
        expect(sentTo(bench)).toEqual(['beside-ranking'])
        expect((await summaryOfJob(bench, large)).status).toBe('SCHEDULED')
      })
      await run('large-job-keeper')
      expect(await summaryOfJob(bench, large)).toMatchObject({ status: 'IN_PROGRESS', places: LARGE })
      await jobs.cancel(caller, large)
      await bench.settle()
    },
    LONG_MS,
  )

  test(
    'for its opening, which looks for the devices of all that wait, a job of one device starts and is sent',
    async () => {
      const large = await stand()
      await run('large-job-keeper')
      await database.query(sql`
      update operation set status = 'WAITING_FOR_CONNECTION', started_at = ${clock.now()} where job = ${large}`)
      await database.query(sql`delete from operation_ready where job = ${large}`)
      await database.query(sql`
      insert into job_counter_delta (job, scheduled, waiting_for_connection) values (${large}, ${-LARGE}, ${LARGE})`)
      await jobs.change(caller, large, { active: false })
      await jobs.change(caller, large, { active: true })
      await run('job-keeper')
      expect((await summaryOfJob(bench, large)).wakeAt).toEqual(clock.now())
      beforeCommit(async () => {
        await startsBeside('beside-opening')
        expect(sentTo(bench)).toEqual(['beside-opening'])
      })
      await run('large-job-keeper')
      expect(await summaryOfJob(bench, large)).toMatchObject({ status: 'IN_PROGRESS', wakeAt: null })
      await jobs.cancel(caller, large)
      await bench.settle()
    },
    LONG_MS,
  )
})

test('while a large job is being cancelled, a smaller one is cancelled in the next turn, and the large one goes on', {
  timeout: LONG_MS,
}, async () => {
  const large = await onFleet(false)
  await bench.settle()
  await jobs.cancel(caller, large)
  expect(await run('operation-canceller')).toEqual(clock.now())
  await bench.provision(ids('beside-cancelling', 60))
  const sixty = { append: { entities: ids('beside-cancelling', 60) } }
  const { job: small } = await jobs.create(caller, jobRequest({ active: false, target: sixty }))
  await jobs.cancel(caller, small)
  expect(await run('operation-canceller')).toEqual(clock.now())
  expect(await summaryOfJob(bench, small)).toMatchObject({ status: 'CANCELLED', finished: { total: 60 } })
  const { status, inProgress } = await summaryOfJob(bench, large)
  expect(status).toBe('CANCELLING_BY_USER')
  expect(inProgress.total).toBeGreaterThan(0)
  await cancelOpen(bench)
  expect(await summaryOfJob(bench, large)).toMatchObject({ status: 'CANCELLED', finished: { total: LARGE } })
})
