/** What there is no room to send is not launched, holds nothing up, and is not claimed over and over. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Addressed } from '../../src/engine/connector.ts'
import type { Database } from '../../src/store/database.ts'
import { createTestDatabase } from '../database.ts'
import { ids, obedient, operationOf, SECOND, say, sentTo, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest, type Workbench } from './workbench.ts'

const isSilent = ({ device }: Addressed) => device.deviceId.startsWith('silent')
/** More than are tried at once where there is no room. */
const size = 60
const crowd = ids('silent', 1_000)
/** Room is looked for every 20 ms: what has some now goes out long before. */
const SOON = 2 * SECOND

describe.each([
  ['of all partitions at once', false],
  ['by partition', true],
] as const)('where claims are made %s', (_, claimsByPartition) => {
  const silent = crowd.slice(0, size)
  const quick = ids('quick', size)
  let bench: Workbench
  let database: Database
  let made = 0

  beforeAll(async () => {
    const created = await createTestDatabase()
    database = created.database
    bench = await createWorkbench(database, { claimsByPartition })
    await bench.provision([...crowd, ...quick])
    return created.close
  })

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
    return (await bench.jobs.create(bench.caller, jobRequest({ name, target: { append }, operationParameters }))).job
  }

  /** Puts the operation of a device behind all others of its job. */
  async function placeLast(job: bigint, identifier: string) {
    await database.executeSql(
      `update operation_ready r set place = (select max(place) from operation_ready where job = $1)
       from entity e where r.job = $1 and e.partition = r.partition and e.entity = r.entity and e.identifier = $2`,
      [job, identifier],
    )
  }

  test('a job without room is not launched and no time of it runs, while the others are served as ever', async () => {
    bench.device = obedient()
    bench.full = isSilent
    const held = await jobOn(silent)
    const other = await jobOn(quick)
    // Longer than `ackTimeout`.
    await bench.advance(12 * SECOND)
    expect(await summaryOfJob(bench, other)).toMatchObject({ status: 'FINISHED' })
    expect(await summaryOfJob(bench, held)).toMatchObject({
      status: 'IN_PROGRESS',
      inProgress: { total: size, scheduled: size },
    })
    expect(await operationOf(bench, held, 'silent-7')).toMatchObject({ status: 'PENDING', attempt: 0, startedAt: null })
    bench.full = () => false
    await bench.advance(SOON)
    expect(await summaryOfJob(bench, held)).toMatchObject({ status: 'FINISHED' })
    expect(new Set(bench.sent.map(({ id }) => id)).size).toBe(bench.sent.length)
  })

  test('of one job, what there is room for goes out though what stands before it has none', async () => {
    bench.device = obedient()
    bench.full = isSilent
    const mixed = await jobOn([...silent, ...quick])
    await bench.advance(5 * SECOND)
    expect(await summaryOfJob(bench, mixed)).toMatchObject({
      inProgress: { total: size, scheduled: size },
      finished: { successful: size },
    })
    bench.full = () => false
    await bench.advance(SOON)
    expect(await summaryOfJob(bench, mixed)).toMatchObject({ status: 'FINISHED' })
  })

  test('what has no room is tried more at a time once a second, in rounds over the whole job, and not over and over', async () => {
    let asked = 0
    bench.full = request => {
      asked += 1
      return isSilent(request)
    }
    const held = await jobOn(silent)
    await bench.advance(10 * SECOND)
    // At first all of a claim; then one question in each look, and rounds of 16, 32, 64 … a second over the job, three seconds or more each.
    expect(asked).toBeGreaterThan(size)
    expect(asked).toBeLessThan(size + 10 * (1_000 / 20) + 4 * size)
    bench.full = () => false
    await bench.advance(SOON)
    expect(await summaryOfJob(bench, held)).toMatchObject({ status: 'FINISHED' })
  })

  test('what there is room for is come to soon, however many stand before it that there is none for', async () => {
    bench.device = obedient()
    bench.full = isSilent
    bench.sent.length = 0
    const mixed = await jobOn([...crowd, 'quick-1'])
    await placeLast(mixed, 'quick-1')
    await bench.advance(10 * SECOND)
    expect(sentTo(bench)).toEqual(['quick-1'])
    bench.full = () => false
    await bench.advance(SOON)
    expect(await summaryOfJob(bench, mixed)).toMatchObject({ status: 'FINISHED' })
  })

  test('what comes to have room goes out though the last of its job has none', async () => {
    bench.device = obedient()
    bench.full = () => true
    bench.sent.length = 0
    const mixed = await jobOn([...ids('silent', 20), 'quick-1'])
    await placeLast(mixed, 'quick-1')
    await bench.advance(3 * SECOND)
    bench.full = ({ device }) => device.deviceId === 'quick-1'
    await bench.advance(3 * SECOND)
    expect(sentTo(bench).toSorted()).toEqual(ids('silent', 20).toSorted())
    bench.full = () => false
    await bench.advance(SOON)
    expect(await summaryOfJob(bench, mixed)).toMatchObject({ status: 'FINISHED' })
  })

  test('room that comes a little at a time is used at once, by each operation once', async () => {
    bench.device = obedient()
    bench.sent.length = 0
    let room = 0
    bench.full = request => isSilent(request) && room-- <= 0
    const held = await jobOn(silent)
    await bench.advance(SECOND)
    // Every look takes one of them away.
    for (let round = 0; round < size / 15; round += 1) {
      room = 22
      await bench.advance(SECOND)
    }
    expect(await summaryOfJob(bench, held)).toMatchObject({ status: 'FINISHED' })
    expect(bench.sent.length).toBe(size)
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
    expect(bench.sent.length).toBe(size)
    expect(await operationOf(bench, retried, 'silent-7')).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 2 })
    await Promise.all(silent.map(device => say(bench, retried, device, { resultCode: 'SUCCESSFUL' })))
  })
})
