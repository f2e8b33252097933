/** What waits for its device behind a closed gate: a connect finds it closed, and its opening finds the device. */
import { describe, expect, test } from 'vitest'
import { createWhy } from '../../src/engine/why.ts'
import { testDatabase } from '../database.ts'
import { deviceOf, HOUR, ids, MINUTE, obedient, operationOf, SECOND, sentTo, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest, type PretendDevice } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller, engine, clock } = bench
const why = createWhy({ database, now: () => clock.now(), redeliveryMs: 30_000 })
const away: PretendDevice = (_, report) => report({ seen: 'away' })
let made = 0

/** A job on devices that speak MQTT and are away: all of its operations wait. */
async function waitingJob(count = 1, schedule = {}) {
  made += 1
  const devices = ids(`m${made}`, count)
  await bench.provision(devices, { flow: 'mqtt' })
  bench.device = away
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: devices } },
      schedule,
      operationParameters: { ackTimeout: 0, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] },
    }),
  )
  await bench.settle()
  expect((await summaryOfJob(bench, job)).inProgress).toMatchObject({ waitingForConnection: count })
  bench.device = obedient()
  bench.sent.length = 0
  return { job, devices }
}
const connect = async (device: string) => engine.presence.connected(await deviceOf(bench, device), `c-${device}`)

describe('a paused job', () => {
  test('a device that connects gets nothing and its operation waits on; resumed, the job sends to those who are there', async () => {
    const { job, devices } = await waitingJob(3)
    await jobs.change(caller, job, { active: false })
    await connect(devices[0]!)
    await connect(devices[1]!)
    await bench.advance(10 * SECOND)
    expect(sentTo(bench)).toEqual([])
    expect((await summaryOfJob(bench, job)).inProgress).toMatchObject({ waitingForConnection: 3, pendingExecution: 0 })
    expect(await operationOf(bench, job, devices[0]!)).toMatchObject({ status: 'WAITING_FOR_CONNECTION', attempt: 1 })

    await jobs.change(caller, job, { active: true })
    await bench.settle()
    expect(sentTo(bench).sort()).toEqual([devices[0], devices[1]])
    expect(await operationOf(bench, job, devices[0]!)).toMatchObject({ status: 'FINISHED', attempt: 1 })
    expect(await operationOf(bench, job, devices[2]!)).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
    await connect(devices[2]!)
    await bench.settle()
    expect((await summaryOfJob(bench, job)).status).toBe('FINISHED')
  })

  test('while it is paused the operation of a device that is there is held by the pause alone', async () => {
    const { job, devices } = await waitingJob()
    const key = { job, ...(await deviceOf(bench, devices[0]!)) }
    const gates = async () => (await why.explain(caller.organization, key))!.held.map(({ gate }) => gate)
    expect(await gates()).toEqual(['deviceAway'])
    await jobs.change(caller, job, { active: false })
    expect(await gates()).toEqual(['paused', 'deviceAway'])
    await connect(devices[0]!)
    expect(await gates()).toEqual(['paused'])
    await jobs.cancel(caller, job)
    await bench.settle()
  })
})

describe('a closed window', () => {
  test('a device that connects gets nothing; when the window opens, those who are there by then are sent to at once', async () => {
    const open = new Date(Math.floor(clock.now().getTime() / HOUR) * HOUR)
    const time = (at: Date) => `${at.toISOString().slice(11, 19)}Z`
    const stop = new Date(open.getTime() + HOUR)
    const window = { weekly: [{ daily: { start: time(open), stop: time(stop) } }] }
    const { job, devices } = await waitingJob(2, { window })
    await bench.advance(stop.getTime() - clock.now().getTime() + MINUTE)
    await connect(devices[0]!)
    await bench.advance(22 * HOUR)
    expect(sentTo(bench)).toEqual([])
    expect((await summaryOfJob(bench, job)).inProgress).toMatchObject({ waitingForConnection: 2, pendingExecution: 0 })

    const sentAt: Date[] = []
    bench.device = (request, report) => {
      sentAt.push(clock.now())
      obedient()(request, report)
    }
    await bench.advance(HOUR)
    expect(sentTo(bench)).toEqual([devices[0]])
    expect(sentAt).toEqual([new Date(open.getTime() + 24 * HOUR)])

    // Resumed while the window is closed, the job waits for the next opening.
    await bench.advance(HOUR)
    await jobs.change(caller, job, { active: false })
    await connect(devices[1]!)
    await jobs.change(caller, job, { active: true })
    await bench.advance(MINUTE)
    expect((await summaryOfJob(bench, job)).inProgress).toMatchObject({ waitingForConnection: 1 })
    await bench.advance(24 * HOUR)
    expect(sentTo(bench)).toEqual(devices)
    expect((await summaryOfJob(bench, job)).status).toBe('FINISHED')
  })
})
