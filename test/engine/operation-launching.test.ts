/** What is claimed in the order of places is launched unread, as if it had never been launched; what had been keeps what it went through. */
import { beforeEach, expect, test } from 'vitest'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { deviceOf, ids, MINUTE, operationOf, say, sentTo, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
let made = 0
/** Behind the first one, which is read. */
const IN_LINE = 3

beforeEach(() => {
  bench.device = silent
  bench.capacity = 100
  bench.full = () => false
})

/** A job over these devices that tries again. */
async function jobOn(devices: readonly string[]) {
  const { job } = await bench.jobs.create(
    bench.caller,
    jobRequest({
      target: { append: { entities: [...devices] } },
      operationParameters: {
        ackTimeout: 10 * MINUTE,
        timeout: 10 * MINUTE,
        retries: 2,
        retriesDelay: MINUTE,
        retryResultList: ['ERROR_PROCESSING', 'ALREADY_IN_PROGRESS'],
      },
    }),
  )
  return job
}

/** A job over five new devices, and which they are. */
async function jobOnFive() {
  made += 1
  const devices = Array.from({ length: 5 }, (_, i) => `launched-${made}-${i}`)
  await bench.provision(devices)
  return { job: await jobOn(devices), devices }
}

/** As it is put back where there was no room for it. */
async function standInLine(job: bigint, device: string, place = IN_LINE) {
  const { partition, entity } = await deviceOf(bench, device)
  await database.query(
    sql`insert into operation_ready (job, place, partition, entity) values (${job}, ${place}, ${partition}, ${entity})`,
  )
  bench.engine.wake()
  bench.sent.length = 0
  await bench.settle()
}

async function liveSlots(device: string) {
  const { partition, entity } = await deviceOf(bench, device)
  return await database.query<{ job: bigint }>(
    sql`select job from operation_live where partition = ${partition} and entity = ${entity}`,
  )
}

test('each of a job that was never launched gets its own parameters, wherever it stands', async () => {
  made += 1
  const devices = Array.from({ length: 20 }, (_, i) => `own-${made}-${i}`)
  await bench.provision(devices)
  bench.sent.length = 0
  const own = (id: string) => ({ type: `OF_${id}` })
  await bench.jobs.create(
    bench.caller,
    jobRequest({
      parameters: { type: 'OF_THE_JOB' },
      target: {
        append: {
          entities: devices.slice(10),
          entitiesWithParameters: devices.slice(0, 10).map(id => ({ id, parameters: own(id) })),
        },
      },
    }),
  )
  await bench.settle()
  expect(new Map(bench.sent.map(({ device, parameters }) => [device.deviceId, parameters]))).toEqual(
    new Map(devices.map((id, i) => [id, i < 10 ? own(id) : { type: 'OF_THE_JOB' }])),
  )
})

test('what is in line is launched in one go with its live slots; where one is taken, all are launched carefully, and for a while', async () => {
  const asked = new Set<string>()
  const { transaction } = bench.database
  bench.database.transaction = (work, options) =>
    transaction(tx => {
      const run: typeof tx.run = (statement, params) => {
        asked.add(statement.name)
        return tx.run(statement, params)
      }
      return work({ ...tx, run })
    }, options)
  const slotsTaken = () => {
    const statements = [...asked].filter(name => name.startsWith('live_slots_take')).sort()
    asked.clear()
    return statements
  }
  const { devices } = await jobOnFive()
  await bench.settle()
  expect(slotsTaken()).toEqual(['live_slots_take_all'])
  const others = ids('in-line-beside', 3)
  await bench.provision(others)
  bench.sent.length = 0
  const second = await jobOn([...devices.slice(0, 1), ...others])
  await bench.settle()
  expect(slotsTaken()).toEqual(['live_slots_take', 'live_slots_take_all'])
  expect(sentTo(bench).sort()).toEqual(others)
  expect(await operationOf(bench, second, devices[0]!)).toMatchObject({
    status: 'PENDING',
    attempts: [{ result: 'ALREADY_IN_PROGRESS' }],
  })
  await jobOnFive()
  await bench.settle()
  expect(slotsTaken()).toEqual(['live_slots_take'])
  bench.database.transaction = transaction
})

test('what is under way is not sent again', async () => {
  const { job, devices } = await jobOnFive()
  await bench.settle()
  await say(bench, job, devices[0]!, { steps: [{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }] })
  await standInLine(job, devices[0]!)
  expect(sentTo(bench)).toEqual([])
  expect(await operationOf(bench, job, devices[0]!)).toMatchObject({
    status: 'IN_PROGRESS',
    attempt: 1,
    steps: [{ name: 'DOWNLOAD' }],
  })
})

test('a request that was taken in hand and not sent is sent again, in the same attempt', async () => {
  const { job, devices } = await jobOnFive()
  // The process stands still between the claim and the sending.
  bench.device = () => {}
  await bench.settle()
  expect(await operationOf(bench, job, devices[1]!)).toMatchObject({ status: 'QUEUED', attempt: 1 })
  bench.device = silent
  // One place of room is enough for one request, however it is come to.
  bench.capacity = 1
  await standInLine(job, devices[1]!)
  expect(sentTo(bench)).toEqual([devices[1]])
  expect(await operationOf(bench, job, devices[1]!)).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 1 })
})

test('a retry is the next attempt, and what the one before came to stays', async () => {
  const { job, devices } = await jobOnFive()
  await bench.settle()
  const word = { resultCode: 'ERROR_PROCESSING', steps: [{ name: 'DOWNLOAD', result: 'ERROR' as const }] }
  await say(bench, job, devices[2]!, word)
  bench.capacity = 1
  await standInLine(job, devices[2]!)
  expect(sentTo(bench)).toEqual([devices[2]])
  expect(await operationOf(bench, job, devices[2]!)).toMatchObject({
    status: 'WAITING_FOR_ACK',
    attempt: 2,
    attempts: [{ attempt: 1, result: 'ERROR_PROCESSING', steps: [{ name: 'DOWNLOAD' }] }],
  })
  await say(bench, job, devices[2]!, { resultCode: 'SUCCESSFUL' })
  expect(await operationOf(bench, job, devices[2]!)).toMatchObject({ result: 'SUCCESSFUL', attempts: [{ attempt: 1 }] })
})

test('one that was put off since its device was taken goes on counting once the device is free', async () => {
  const { job: first, devices } = await jobOnFive()
  await bench.settle()
  const second = await jobOn(devices)
  await bench.settle()
  expect(await operationOf(bench, second, devices[4]!)).toMatchObject({
    status: 'PENDING',
    attempt: 1,
    startedAt: null,
  })
  await say(bench, first, devices[4]!, { resultCode: 'SUCCESSFUL' })
  await standInLine(second, devices[4]!)
  expect(await operationOf(bench, second, devices[4]!)).toMatchObject({
    status: 'WAITING_FOR_ACK',
    attempt: 2,
    attempts: [{ attempt: 1, result: 'ALREADY_IN_PROGRESS' }],
  })
  expect(await liveSlots(devices[4]!)).toEqual([{ job: second }])
})

test('what has ended, or is gone, takes no live slot', async () => {
  const { job, devices } = await jobOnFive()
  await bench.settle()
  await say(bench, job, devices[3]!, { resultCode: 'SUCCESSFUL' })
  await standInLine(job, devices[3]!)
  expect(sentTo(bench)).toEqual([])
  expect(await liveSlots(devices[3]!)).toEqual([])
  expect((await summaryOfJob(bench, job)).finished.successful).toBe(1)
})

test('one that stands at two places and finds no room is put back once, and goes when there is some', async () => {
  const { job, devices } = await jobOnFive()
  await bench.settle()
  await say(bench, job, devices[1]!, { resultCode: 'ERROR_PROCESSING' })
  const { partition, entity } = await deviceOf(bench, devices[1]!)
  await database.query(
    sql`insert into operation_ready (job, place, partition, entity) values (${job}, 0, ${partition}, ${entity})`,
  )
  bench.full = () => true
  // Where the one at the first place is put back, too.
  await standInLine(job, devices[1]!, 1)
  expect(sentTo(bench)).toEqual([])
  bench.full = () => false
  await bench.advance(MINUTE / 2)
  expect(sentTo(bench)).toEqual([devices[1]])
  expect(await operationOf(bench, job, devices[1]!)).toMatchObject({ attempt: 2 })
})

test('one that is launched and has lost its live slot, which nothing does to it, is left alone and stops nobody', async () => {
  const { job, devices } = await jobOnFive()
  await bench.settle()
  const { partition, entity } = await deviceOf(bench, devices[0]!)
  await database.query(sql`delete from operation_live where partition = ${partition} and entity = ${entity}`)
  await standInLine(job, devices[0]!)
  expect(sentTo(bench)).toEqual([])
  expect(await operationOf(bench, job, devices[0]!)).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 1 })
  await jobOnFive()
  await bench.settle()
  expect(bench.sent.length).toBe(5)
})

test('a request in hand that has lost its live slot is sent again nevertheless', async () => {
  const { job, devices } = await jobOnFive()
  bench.device = () => {}
  await bench.settle()
  const { partition, entity } = await deviceOf(bench, devices[0]!)
  await database.query(sql`delete from operation_live where partition = ${partition} and entity = ${entity}`)
  bench.device = silent
  await standInLine(job, devices[0]!)
  expect(sentTo(bench)).toEqual([devices[0]])
  expect(await operationOf(bench, job, devices[0]!)).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 1 })
})
