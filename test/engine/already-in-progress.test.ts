import { expect, test } from 'vitest'
import { createWhy } from '../../src/engine/why.ts'
import { readOperationPage } from '../../src/store/operation-reading.ts'
import { testDatabase } from '../database.ts'
import { operationOf, SECOND, say, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller } = bench
bench.device = silent
const why = createWhy({ database, now: () => bench.clock.now(), redeliveryMs: 30_000 })
let made = 0

async function newDevice(flow: 'http' | 'pull' = 'http') {
  made += 1
  await bench.provision([`busy-${made}`], { flow })
  return `busy-${made}`
}

async function jobOn(device: string, more: { name?: string; retries?: number; retriesDelay?: number } = {}) {
  const { retries = 0, retriesDelay = 10 * SECOND, ...rest } = more
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: [device] } },
      operationParameters: {
        ackTimeout: 3_600_000,
        timeout: 60_000,
        retries,
        retriesDelay,
        retryResultList: retries > 0 ? ['ALREADY_IN_PROGRESS'] : [],
      },
      ...rest,
    }),
  )
  await bench.settle()
  return job
}

test('of two jobs of one name on one device the second ends ALREADY_IN_PROGRESS', async () => {
  const device = await newDevice()
  const first = await jobOn(device)
  const second = await jobOn(device)
  expect(await operationOf(bench, first, device)).toMatchObject({ status: 'WAITING_FOR_ACK' })
  expect(await operationOf(bench, second, device)).toMatchObject({
    status: 'CANCELLED',
    result: 'ALREADY_IN_PROGRESS',
    startedAt: null,
  })
  expect(await summaryOfJob(bench, second)).toMatchObject({
    status: 'FINISHED_WITH_ERRORS',
    finished: { cancelled: { byAlreadyInProgress: 1 } },
  })
  expect(await say(bench, second, device, { resultCode: 'SUCCESSFUL' })).toBe('unknown')
})

test('of two jobs launched in one claim, too, only one gets the device', async () => {
  const device = await newDevice()
  const request = jobRequest({ target: { append: { entities: [device] } } })
  const both = await Promise.all([jobs.create(caller, request), jobs.create(caller, request)])
  await bench.settle()
  const statuses = await Promise.all(both.map(async ({ job }) => (await operationOf(bench, job, device)).status))
  expect(statuses.sort()).toEqual(['CANCELLED', 'WAITING_FOR_ACK'])
})

test('of two jobs that two nodes launch at the same time only one gets each device', async () => {
  const other = await createWorkbench(database, { node: 2, clock: bench.clock })
  other.device = silent
  const devices: string[] = []
  for (let i = 0; i < 20; i += 1) devices.push(await newDevice())
  const request = jobRequest({ target: { append: { entities: devices } } })
  const both = [await jobs.create(caller, request), await jobs.create(caller, request)]
  const before = bench.sent.length
  await Promise.all([bench.settle(), other.settle()])
  const sentTo = [...bench.sent.slice(before), ...other.sent].map(({ device }) => device.deviceId)
  expect(sentTo.sort()).toEqual([...devices].sort())
  const summaries = await Promise.all(both.map(({ job }) => summaryOfJob(bench, job)))
  expect(summaries.reduce((sum, { finished }) => sum + finished.cancelled.byAlreadyInProgress, 0)).toBe(20)
})

test('the device is free again once the first has ended', async () => {
  const device = await newDevice()
  await say(bench, await jobOn(device), device, { resultCode: 'SUCCESSFUL' })
  expect(await operationOf(bench, await jobOn(device), device)).toMatchObject({ status: 'WAITING_FOR_ACK' })
})

test('operations of another name run beside it', async () => {
  await database.executeSql(
    `insert into operation_type (organization, name, applicable_to, created_at)
     select organization, 'REFRESH_INFO', '{entity.device}', $1 from organization`,
    [EPOCH],
  )
  const device = await newDevice()
  await jobOn(device)
  const other = await jobOn(device, { name: 'REFRESH_INFO' })
  expect(await operationOf(bench, other, device)).toMatchObject({ status: 'WAITING_FOR_ACK' })
})

test.each(['http', 'pull'] as const)('where it is listed, the second waits for its turn: %s', async flow => {
  const device = await newDevice(flow)
  const first = await jobOn(device)
  const second = await jobOn(device, { retries: 3 })
  expect(await operationOf(bench, second, device)).toMatchObject({
    status: 'PENDING',
    attempts: [{ attempt: 1, result: 'ALREADY_IN_PROGRESS' }],
  })
  await say(bench, first, device, { resultCode: 'SUCCESSFUL' })
  await bench.advance(11 * SECOND)
  expect(await operationOf(bench, second, device)).toMatchObject({
    status: flow === 'pull' ? 'WAITING_FOR_CONNECTION' : 'WAITING_FOR_ACK',
    attempt: 2,
  })
})

test('what was never launched is at attempt 0, however often it was put off', async () => {
  const device = await newDevice()
  const first = await jobOn(device)
  const second = await jobOn(device, { retries: 3 })
  await bench.advance(11 * SECOND)
  const shown = async () => (await readOperationPage(database, second, { skip: 0 }, 1))[0]
  expect(await shown()).toMatchObject({ attempt: 0, startedAt: null, attempts: [{ attempt: 1 }, { attempt: 2 }] })
  expect(await why.explain(caller.organization, (await shown())!)).toMatchObject({ attempt: 0, attemptsMax: 4 })
  await say(bench, first, device, { resultCode: 'SUCCESSFUL' })
  await bench.advance(11 * SECOND)
  expect(await shown()).toMatchObject({ attempt: 3, startedAt: expect.any(Date) })
})

test('without a pause between attempts a taken device is tried again each second, not without end at once', async () => {
  const device = await newDevice()
  await jobOn(device)
  const second = await jobOn(device, { retries: 5, retriesDelay: 0 })
  expect(await operationOf(bench, second, device)).toMatchObject({ status: 'PENDING', attempt: 1 })
  await bench.advance(SECOND)
  expect(await operationOf(bench, second, device)).toMatchObject({ status: 'PENDING', attempt: 2 })
})

test('a device keeps its slot between two attempts, and a cancelled launch does not hold it', async () => {
  const device = await newDevice()
  const first = await jobOn(device)
  await jobs.cancel(caller, first)
  await bench.settle()
  expect(await summaryOfJob(bench, first)).toMatchObject({ status: 'CANCELLED' })
  expect(await operationOf(bench, await jobOn(device), device)).toMatchObject({ status: 'WAITING_FOR_ACK' })
})
