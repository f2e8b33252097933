/** What there is no room to send is not launched, holds nothing up, and is not claimed over and over. */
import { beforeAll, expect, test } from 'vitest'
import type { Addressed } from '../../src/engine/connector.ts'
import { testDatabase } from '../database.ts'
import { ids, obedient, operationOf, SECOND, say, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller } = bench
const isSilent = ({ device }: Addressed) => device.deviceId.startsWith('silent')
const silent = ids('silent', 300)
const quick = ids('quick', 300)
let made = 0

beforeAll(() => bench.provision([...silent, ...quick]))

async function jobOn(devices: readonly string[], retries = 0) {
  made += 1
  const name = `TYPE_${made}`
  await database.executeSql(
    `insert into operation_type (organization, name, applicable_to, created_at)
     select organization, $1, '{entity.device}', created_at from organization`,
    [name],
  )
  const operationParameters = { ackTimeout: 10_000, timeout: 60_000, retries, retriesDelay: 0, retryResultList: [] }
  const append = { entities: [...devices] }
  return (await jobs.create(caller, jobRequest({ name, target: { append }, operationParameters }))).job
}

test('a job without room is not launched and no time of it runs, while the others are served as ever', async () => {
  bench.device = obedient()
  bench.full = isSilent
  const held = await jobOn(silent)
  const other = await jobOn(quick)
  await bench.advance(20 * SECOND)
  expect(await summaryOfJob(bench, other)).toMatchObject({ status: 'FINISHED' })
  expect(await summaryOfJob(bench, held)).toMatchObject({
    status: 'IN_PROGRESS',
    inProgress: { total: 300, scheduled: 300 },
  })
  expect(await operationOf(bench, held, 'silent-7')).toMatchObject({ status: 'PENDING', attempt: 0, startedAt: null })
  bench.full = () => false
  await bench.advance(5 * SECOND)
  expect(await summaryOfJob(bench, held)).toMatchObject({ status: 'FINISHED' })
  expect(new Set(bench.sent.map(({ id }) => id)).size).toBe(bench.sent.length)
})

test('of one job, what there is room for goes out though what stands before it has none', async () => {
  bench.device = obedient()
  bench.full = isSilent
  const mixed = await jobOn([...silent, ...quick])
  await bench.advance(10 * SECOND)
  expect(await summaryOfJob(bench, mixed)).toMatchObject({
    inProgress: { total: 300, scheduled: 300 },
    finished: { successful: 300 },
  })
  bench.full = () => false
  await bench.advance(5 * SECOND)
  expect(await summaryOfJob(bench, mixed)).toMatchObject({ status: 'FINISHED' })
})

test('what has no room is claimed a few at a time once a second, and not over and over', async () => {
  let asked = 0
  bench.full = request => {
    asked += 1
    return isSilent(request)
  }
  const held = await jobOn(silent)
  await bench.advance(10 * SECOND)
  // At first all of a claim; then one question in each look, and some sixteen a second for those that may go another way.
  expect(asked).toBeGreaterThan(300)
  expect(asked).toBeLessThan(300 + 10 * (1_000 / 20) + 11 * 16)
  bench.full = () => false
  await bench.advance(5 * SECOND)
  expect(await summaryOfJob(bench, held)).toMatchObject({ status: 'FINISHED' })
})

test('room that comes a little at a time is used at once, by each operation once', async () => {
  bench.device = obedient()
  bench.sent.length = 0
  let room = 0
  bench.full = request => isSilent(request) && room-- <= 0
  const held = await jobOn(silent)
  await bench.advance(SECOND)
  for (let round = 0; round < 30; round += 1) {
    room = 11
    await bench.advance(SECOND)
  }
  expect(await summaryOfJob(bench, held)).toMatchObject({ status: 'FINISHED' })
  expect(bench.sent.length).toBe(300)
})

test('a retry without room waits and makes way for the first attempts of the others', async () => {
  bench.full = () => false
  bench.device = (_, report) => report({ seen: 'sent' })
  const retried = await jobOn(silent, 1)
  await bench.settle()
  bench.full = isSilent
  await bench.advance(11 * SECOND)
  expect(await operationOf(bench, retried, 'silent-7')).toMatchObject({ status: 'PENDING', attempt: 1 })
  bench.full = () => false
  bench.sent.length = 0
  await bench.advance(4 * SECOND)
  expect(bench.sent.length).toBe(300)
  expect(await operationOf(bench, retried, 'silent-7')).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 2 })
  await Promise.all(silent.map(device => say(bench, retried, device, { resultCode: 'SUCCESSFUL' })))
})
