import { expect, test } from 'vitest'
import { testDatabase } from '../database.ts'
import { HOUR, ids, MINUTE, obedient, operationOf, SECOND, say, sentTo, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller, clock } = bench
let made = 0

/** A job on one new device, with nothing told and sent before it. */
async function jobOn(schedule: object, active = true) {
  made += 1
  const device = `scheduled-${made}`
  await bench.provision([device])
  bench.sent.length = 0
  bench.device = silent
  // Whatever is sent stays unanswered for longer than any test takes.
  const operationParameters = {
    ackTimeout: 3 * HOUR,
    timeout: 60_000,
    retries: 0,
    retriesDelay: 0,
    retryResultList: [],
  }
  const { job } = await jobs.create(
    caller,
    jobRequest({ active, schedule, target: { append: { entities: [device] } }, operationParameters }),
  )
  return { job, device }
}
const inFuture = (ms: number) => new Date(clock.now().getTime() + ms).toISOString()
const told = (job: bigint) => bench.told.filter(each => each.job === job).map(({ kind, status }) => `${kind} ${status}`)

test('a job with a start date waits as SCHEDULED, and starts when it comes', async () => {
  const { job } = await jobOn({ start: { date: inFuture(10 * MINUTE) } })
  await bench.advance(10 * MINUTE - SECOND)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'SCHEDULED', startedAt: null })
  expect(bench.sent).toEqual([])
  await bench.advance(SECOND)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IN_PROGRESS', startedAt: clock.now() })
  expect(told(job)).toEqual(['started IN_PROGRESS'])
})

test('a delayed start counts from the activation, not from the creation', async () => {
  const { job } = await jobOn({ start: { delayed: 5 * MINUTE } }, false)
  await bench.advance(10 * MINUTE)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IDLE' })
  await jobs.change(caller, job, { active: true })
  await bench.advance(5 * MINUTE - SECOND)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'SCHEDULED' })
  await bench.advance(SECOND)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IN_PROGRESS' })
})

test('a scheduled job that is deactivated is IDLE and does not start', async () => {
  const { job } = await jobOn({ start: { delayed: MINUTE } })
  await jobs.change(caller, job, { active: false })
  await bench.advance(5 * MINUTE)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IDLE' })
  expect(told(job)).toEqual([])
})

test('a delayed stop counts from the start: what is open then is cancelled by the engine', async () => {
  const { job, device } = await jobOn({ start: { delayed: MINUTE }, stop: { delayed: 5 * SECOND } })
  await bench.advance(MINUTE + 5 * SECOND)
  expect(await summaryOfJob(bench, job)).toMatchObject({
    status: 'TIMEOUT_CANCELLED',
    finished: { total: 1, cancelled: { byEngine: 1 } },
  })
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'TIMEOUT_CANCELLED',
    result: 'TIMEOUT_CANCELLED',
  })
  expect(told(job)).toEqual(['started IN_PROGRESS', 'finished TIMEOUT_CANCELLED'])
})

test('a stop date comes while the job is paused, too', async () => {
  const { job } = await jobOn({ stop: { date: inFuture(HOUR) } })
  await bench.settle()
  await jobs.change(caller, job, { active: false })
  await bench.advance(HOUR)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'TIMEOUT_CANCELLED', finishedAt: clock.now() })
})

test('a delayed stop runs on while the job is paused, and ends it as TIMEOUT_CANCELLED whatever had succeeded before', async () => {
  bench.device = silent
  const { job, device } = await jobOn({ stop: { delayed: HOUR } }, false)
  await bench.provision(['scheduled-beside'])
  await jobs.change(caller, job, { target: { append: { entities: ['scheduled-beside'] } } })
  await jobs.change(caller, job, { active: true })
  await bench.settle()
  await say(bench, job, device, { resultCode: 'SUCCESSFUL' })
  await jobs.change(caller, job, { active: false })
  await bench.advance(HOUR)
  expect(await summaryOfJob(bench, job)).toMatchObject({
    status: 'TIMEOUT_CANCELLED',
    finished: { total: 2, successful: 1 },
    finishedAt: clock.now(),
  })
})

test.each(['SCHEDULED', 'IN_PROGRESS', 'PAUSED'])('a job that is %s takes nothing but `active`', async status => {
  bench.device = silent
  const { job } = await jobOn(status === 'SCHEDULED' ? { start: { delayed: HOUR } } : {})
  await bench.settle()
  if (status === 'PAUSED') await jobs.change(caller, job, { active: false })
  for (const change of [
    { userNotes: 'x' },
    { schedule: { stop: { delayed: HOUR } } },
    { notify: true, active: true },
  ]) {
    await expect(jobs.change(caller, job, change)).rejects.toMatchObject({ entry: { code: '0x020010' } })
  }
  expect(await summaryOfJob(bench, job)).toMatchObject({ status, request: { notify: false } })
  await jobs.cancel(caller, job)
  await bench.settle()
})

test('a job that ends before its stop is not touched by it', async () => {
  const { job } = await jobOn({ stop: { delayed: MINUTE } })
  bench.device = obedient()
  await bench.settle()
  const { finishedAt } = await summaryOfJob(bench, job)
  await bench.advance(2 * MINUTE)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finishedAt })
})

test('where start and stop both passed in an outage, the job starts, is cancelled by the engine, and tells both', async () => {
  const { job } = await jobOn({ start: { date: inFuture(10 * MINUTE) }, stop: { date: inFuture(20 * MINUTE) } })
  await bench.settle()
  await bench.outage(HOUR)
  await bench.settle()
  expect(sentTo(bench)).toEqual([])
  expect(told(job)).toEqual(['started IN_PROGRESS', 'finished TIMEOUT_CANCELLED'])
  expect(await summaryOfJob(bench, job)).toMatchObject({
    status: 'TIMEOUT_CANCELLED',
    startedAt: clock.now(),
    finished: { cancelled: { byEngine: 1 } },
  })
})

test('of a job whose stop passed in an outage nothing more is sent, not even what its spread had come to', async () => {
  const devices = ids('spread', 60)
  await bench.provision(devices)
  bench.device = obedient()
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: devices } },
      schedule: { stop: { delayed: 2 * HOUR }, scattering: { maxSpread: 100 } },
    }),
  )
  await bench.advance(20 * MINUTE)
  const before = bench.sent.length
  expect(before).toBeGreaterThan(0)
  await bench.outage(5 * HOUR)
  await bench.settle()
  expect(bench.sent.length).toBe(before)
  expect(await summaryOfJob(bench, job)).toMatchObject({
    status: 'TIMEOUT_CANCELLED',
    finished: { successful: before, cancelled: { byEngine: 60 - before } },
  })
})

test('a job whose stop has passed while it was IDLE stays IDLE, and cannot be activated until a later stop is PUT', async () => {
  const { job } = await jobOn({ stop: { date: inFuture(10 * MINUTE) } }, false)
  await bench.advance(20 * MINUTE)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IDLE' })
  await expect(jobs.change(caller, job, { active: true })).rejects.toMatchObject({ entry: { kind: 'invalid' } })
  await jobs.change(caller, job, { schedule: { stop: { date: inFuture(HOUR) } }, active: true })
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IN_PROGRESS' })
})
