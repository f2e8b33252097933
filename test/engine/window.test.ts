import { expect, test } from 'vitest'
import { testDatabase } from '../database.ts'
import { deviceOf, HOUR, ids, MINUTE, obedient, operationOf, say, sentTo, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
// The clock begins on a Monday at 10:00 UTC.
const bench = await createWorkbench(database)
const { jobs, caller, clock, engine } = bench
const never = new AbortController().signal

const daily = (start: string, stop: string, days?: string[]) => ({
  window: { weekly: [{ ...(days && { days }), daily: { start, stop } }] },
})

/** Goes on to an hour of the day, UTC. */
async function until(hour: number, minute = 0) {
  const at = new Date(clock.now())
  at.setUTCHours(hour, minute, 0, 0)
  if (at <= clock.now()) at.setUTCDate(at.getUTCDate() + 1)
  await bench.advance(at.getTime() - clock.now().getTime())
}

async function jobOn(devices: string[], schedule: object) {
  bench.sent.length = 0
  const rules = { ackTimeout: 0, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] }
  return await jobs.create(
    caller,
    jobRequest({ schedule, target: { append: { entities: devices } }, operationParameters: rules }),
  )
}

test('a job outside its window is in progress and sends nothing until the window opens', async () => {
  await bench.provision(['early'])
  bench.device = obedient()
  const { job } = await jobOn(['early'], daily('12:00:00Z', '14:00:00Z'))
  await until(11, 59)
  expect(bench.sent).toEqual([])
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IN_PROGRESS', inProgress: { scheduled: 1 } })
  await until(12)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finishedAt: clock.now() })
})

test('what a closing window leaves is launched when it opens again, on the days it opens', async () => {
  const devices = ids('slow', 3)
  await bench.provision(devices)
  bench.device = silent
  const { job } = await jobOn(devices, daily('14:00:00Z', '16:00:00Z', ['MON', 'WED']))
  await until(13, 59)
  await bench.outage(HOUR)
  bench.capacity = 1
  for (const loop of ['node-keeper', 'operation-dispatcher']) await engine.loops.get(loop)!.runOnce(clock.now())
  bench.capacity = 500
  await bench.outage(HOUR + MINUTE)
  await bench.settle()
  expect(bench.sent.length).toBe(1)
  expect(await say(bench, job, sentTo(bench)[0]!, { resultCode: 'SUCCESSFUL' })).toBe('taken')
  await until(15)
  expect(clock.now().getUTCDay()).toBe(2)
  expect(bench.sent.length).toBe(1)
  bench.device = obedient()
  await until(15)
  expect(clock.now().getUTCDay()).toBe(3)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 3 } })
})

test('a device that asks while the window is closed gets nothing, and the operation stays', async () => {
  await bench.provision(['asking'], { flow: 'pull' })
  await until(11, 50)
  const { job } = await jobOn(['asking'], daily('11:00:00Z', '12:00:00Z'))
  await bench.settle()
  await until(12)
  const device = await deviceOf(bench, 'asking')
  expect(await engine.pending.take(device, 0, never)).toBeUndefined()
  expect(await operationOf(bench, job, 'asking')).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
  await until(11)
  expect(await engine.pending.take(device, 0, never)).toMatchObject({ name: 'REBOOT_EQUIPMENT' })
  await say(bench, job, 'asking', { resultCode: 'SUCCESSFUL' })
})

test('a device that connects while the window is closed is sent to when it opens', async () => {
  await bench.provision(['connecting'], { flow: 'mqtt' })
  await until(11, 50)
  bench.device = (_, report) => report({ seen: 'away' })
  const { job } = await jobOn(['connecting'], daily('11:00:00Z', '12:00:00Z'))
  await bench.settle()
  expect(await operationOf(bench, job, 'connecting')).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
  await until(12)
  bench.device = obedient()
  bench.sent.length = 0
  await engine.presence.connected(await deviceOf(bench, 'connecting'), 'c1')
  await bench.advance(10 * MINUTE)
  expect(bench.sent).toEqual([])
  await until(11)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED' })
})

test('what was sent inside the window may finish outside it', async () => {
  await bench.provision(['finishing'])
  await until(11, 59)
  await bench.advance(30_000)
  bench.device = silent
  const { job } = await jobOn(['finishing'], daily('11:00:00Z', '12:00:00Z'))
  await until(12)
  await say(bench, job, 'finishing', { resultCode: 'SUCCESSFUL' })
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED' })
})

test('a retry that is due while the window is closed waits for its opening', async () => {
  await bench.provision(['retried'])
  await until(11, 59)
  bench.sent.length = 0
  bench.device = silent
  const { job } = await jobs.create(
    caller,
    jobRequest({
      schedule: daily('11:00:00Z', '12:00:00Z'),
      target: { append: { entities: ['retried'] } },
      operationParameters: {
        ackTimeout: 2 * MINUTE,
        timeout: MINUTE,
        retries: 1,
        retriesDelay: 0,
        retryResultList: [],
      },
    }),
  )
  await until(12, 30)
  expect(await operationOf(bench, job, 'retried')).toMatchObject({ status: 'PENDING', attempt: 1 })
  await until(10, 59)
  expect(bench.sent.length).toBe(1)
  await until(11)
  expect(bench.sent.length).toBe(2)
})
