import { expect, test } from 'vitest'
import { testDatabase } from '../database.ts'
import { ids, MINUTE, obedient, SECOND, say, sentTo, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller } = bench
const dispatcher = bench.engine.loops.get('operation-dispatcher')!
let made = 0

async function jobOf(count: number, operationParameters = {}) {
  made += 1
  const devices = ids(`paused-${made}`, count)
  await bench.provision(devices)
  bench.sent.length = 0
  bench.told.length = 0
  const rules = { ackTimeout: 10_000, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] }
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: devices } },
      operationParameters: { ...rules, ...operationParameters },
    }),
  )
  return { job, devices }
}

test('nothing is launched after a pause was answered, and the rest goes on after the resume', async () => {
  bench.device = obedient()
  bench.capacity = 10
  const { job } = await jobOf(100)
  await dispatcher.runOnce(bench.clock.now())
  await jobs.change(caller, job, { active: false })
  await bench.advance(MINUTE)
  expect(bench.sent.length).toBe(10)
  expect(await summaryOfJob(bench, job)).toMatchObject({
    status: 'PAUSED',
    inProgress: { total: 90, scheduled: 90 },
    finished: { successful: 10 },
  })
  await jobs.change(caller, job, { active: true })
  await bench.settle()
  expect(new Set(sentTo(bench)).size).toBe(100)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 100 } })
  expect(bench.told.map(({ kind }) => kind)).toEqual(['started', 'finished'])
})

test('a claim under way is over when the pause is answered, and none follows it', async () => {
  bench.device = silent
  bench.capacity = 5
  const { job } = await jobOf(100)
  const claiming = [1, 2, 3, 4].map(() => dispatcher.runOnce(bench.clock.now()))
  await jobs.change(caller, job, { active: false })
  const { inProgress } = await summaryOfJob(bench, job)
  await Promise.all(claiming)
  await bench.settle()
  expect((await summaryOfJob(bench, job)).inProgress.scheduled).toBe(inProgress.scheduled)
})

test('answers are taken while a job is paused, and its last one ends it', async () => {
  bench.device = silent
  bench.capacity = 500
  const { job, devices } = await jobOf(2)
  await bench.settle()
  await jobs.change(caller, job, { active: false })
  for (const device of devices) expect(await say(bench, job, device, { resultCode: 'SUCCESSFUL' })).toBe('taken')
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED' })
})

test('timeouts run on while a job is paused, and a retry waits for the resume', async () => {
  bench.device = silent
  const { job } = await jobOf(1, { retries: 1 })
  await bench.settle()
  await jobs.change(caller, job, { active: false })
  await bench.advance(MINUTE)
  expect(bench.sent.length).toBe(1)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'PAUSED', inProgress: { scheduled: 1 } })
  await jobs.change(caller, job, { active: true })
  await bench.advance(SECOND)
  expect(bench.sent.length).toBe(2)
})

test('to pause what is paused and to resume what runs changes nothing', async () => {
  bench.device = silent
  const { job } = await jobOf(1)
  expect((await jobs.change(caller, job, { active: true })).status).toBe('IN_PROGRESS')
  await jobs.change(caller, job, { active: false })
  expect((await jobs.change(caller, job, { active: false })).status).toBe('PAUSED')
  await expect(jobs.change(caller, job, { userNotes: 'too late' })).rejects.toMatchObject({
    entry: { code: '0x020010' },
  })
})
