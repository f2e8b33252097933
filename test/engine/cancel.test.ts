import { expect, test } from 'vitest'
import { testDatabase } from '../database.ts'
import { ids, operationOf, SECOND, say, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database, { cancelAtOnceMax: 100 })
const { jobs, caller } = bench
bench.device = silent
let made = 0

async function jobOf(count: number, more: { active?: boolean; schedule?: object } = {}) {
  made += 1
  const devices = ids(`cancel-${made}`, count)
  await bench.provision(devices)
  bench.told.length = 0
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: devices } },
      operationParameters: { ackTimeout: 60_000, timeout: 60_000, retries: 5, retriesDelay: 0, retryResultList: [] },
      ...more,
    }),
  )
  return { job, devices }
}
const told = (job: bigint) => bench.told.filter(each => each.job === job).map(({ kind, status }) => `${kind} ${status}`)

test.each([
  ['IDLE', { active: false }],
  ['SCHEDULED', { schedule: { start: { delayed: 60_000 } } }],
])('a small job that is %s is CANCELLED when the call returns, and tells its end only', async (status, more) => {
  const { job } = await jobOf(10, more)
  expect((await summaryOfJob(bench, job)).status).toBe(status)
  expect(await jobs.cancel(caller, job)).toMatchObject({ status: 'CANCELLED', finishedAt: bench.clock.now() })
  expect(await summaryOfJob(bench, job)).toMatchObject({ finished: { total: 10, cancelled: { byUser: 10 } } })
  expect(told(job)).toEqual(['finished CANCELLED'])
})

test('an IDLE job without any operation can be cancelled', async () => {
  const { job } = await jobs.create(caller, jobRequest({ active: false, target: {} }))
  expect(await jobs.cancel(caller, job)).toMatchObject({ status: 'CANCELLED' })
})

test('a job that has launched something is cancelled in batches', async () => {
  const { job } = await jobOf(10)
  await bench.settle()
  expect(await jobs.cancel(caller, job)).toMatchObject({ status: 'CANCELLING_BY_USER' })
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'CANCELLED', finished: { cancelled: { byUser: 10 } } })
  expect(told(job)).toEqual(['started IN_PROGRESS', 'finished CANCELLED'])
})

test('a large job is cancelled in batches, and a small one beside it does not wait for it', async () => {
  const { job: large } = await jobOf(12_000, { schedule: { start: { delayed: 60_000 } } })
  const { job: small } = await jobOf(101, { schedule: { start: { delayed: 60_000 } } })
  expect(await jobs.cancel(caller, large)).toMatchObject({ status: 'CANCELLING_BY_USER' })
  expect(await jobs.cancel(caller, small)).toMatchObject({ status: 'CANCELLING_BY_USER' })
  await bench.settle()
  expect(await summaryOfJob(bench, large)).toMatchObject({
    status: 'CANCELLED',
    finished: { cancelled: { byUser: 12_000 } },
  })
  expect(bench.told.map(each => each.job)).toEqual([small, large])
})

test('a paused job is cancelled, with what it still had to launch', async () => {
  bench.capacity = 3
  const { job } = await jobOf(10)
  await bench.engine.loops.get('operation-dispatcher')!.runOnce(bench.clock.now())
  await jobs.change(caller, job, { active: false })
  await jobs.cancel(caller, job)
  bench.capacity = 500
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'CANCELLED', finished: { cancelled: { byUser: 10 } } })
  const [left] = (await database.executeSql('select count(*)::int as ready from operation_ready where job = $1', [job]))
    .rows
  expect(left).toEqual({ ready: 0 })
})

test('nothing is launched, retried or sent again after a cancel was answered', async () => {
  const { job, devices } = await jobOf(3)
  await bench.settle()
  await jobs.cancel(caller, job)
  const sent = bench.sent.length
  await say(bench, job, devices[0]!, { resultCode: 'SUCCESSFUL' })
  await bench.advance(300 * SECOND)
  expect(bench.sent.length).toBe(sent)
  expect(await operationOf(bench, job, devices[0]!)).toMatchObject({ result: 'SUCCESSFUL' })
  expect(await operationOf(bench, job, devices[1]!)).toMatchObject({ status: 'CANCELLED', result: 'CANCELLED' })
})

test('a job being cancelled cannot be changed, an ended one can neither be changed nor cancelled', async () => {
  const refused = { entry: { code: '0x020010', message: 'Job state transition error.' } }
  const { job } = await jobOf(2)
  await bench.settle()
  await jobs.cancel(caller, job)
  expect(await jobs.cancel(caller, job)).toMatchObject({ status: 'CANCELLING_BY_USER' })
  await expect(jobs.change(caller, job, { active: false })).rejects.toMatchObject(refused)
  await bench.settle()
  await expect(jobs.change(caller, job, { active: true })).rejects.toMatchObject(refused)
  await expect(jobs.cancel(caller, job)).rejects.toMatchObject(refused)
})
