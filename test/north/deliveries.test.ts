import { afterAll, describe, expect, test } from 'vitest'
import { deliveryId } from '../../src/domain/delivery.ts'
import { jobId, parseJobId } from '../../src/domain/identity.ts'
import { createDeliveryEnqueuer } from '../../src/engine/deliveries.ts'
import { deliveryRoutes } from '../../src/north/deliveries.ts'
import { toldOperations } from '../../src/north/told-operations.ts'
import { recordAttempts } from '../../src/store/deliveries.ts'
import { openDeliveryQueue } from '../../src/store/delivery-queue.ts'
import { readJob } from '../../src/store/jobs.ts'
import { silentLog, testDatabase } from '../database.ts'
import { createWorkbench, jobRequest } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const workbench = await createWorkbench(database)
const { caller, clock } = workbench
const pauses = { firstMs: 1_000, longestMs: 1_000 }

const queue = await openDeliveryQueue({ database, log: silentLog, supervise: false, pauses })
afterAll(() => queue.stop())
await workbench.provision(Array.from({ length: 3 }, (_, index) => `d${index}`))
const door = openDoor(caller, app => deliveryRoutes(app, { database, queue, clock }))

/** A job that was told as started and finished at this second; answers its number. */
async function toldJob(callback = 'http://cb/jobs'): Promise<bigint> {
  await workbench.advance(1_000)
  const created = await workbench.jobs.create(
    caller,
    jobRequest({ callback, target: { append: { entities: ['d0', 'd1', 'd2'] } }, active: false }),
  )
  const job = (await readJob(database, caller.organization, created.job))!
  const enqueuer = createDeliveryEnqueuer({ queue, mailHost: null, trapHost: null })
  await database.transaction(async tx => {
    await enqueuer.started(tx, [job], clock.now())
    await enqueuer.finished(tx, [job], clock.now())
  })
  return job.job
}

const started = (job: bigint) => deliveryId(job, 'callback', 'jobStarted')
const finished = (job: bigint) => deliveryId(job, 'callback', 'jobFinished')

const refuse = (delivery: string) =>
  database.transaction(tx =>
    recordAttempts(tx, [
      {
        delivery,
        from: 'OPEN',
        to: 'GIVEN_UP',
        status: 500,
        error: 'the receiver answered 500',
        attemptedAt: clock.now(),
      },
    ]),
  )

describe('the log of deliveries', () => {
  test('is 204 where there is none', async () => {
    expect((await door.ask('GET', '/deliveries')).status).toBe(204)
  })

  test('shows what is told, to whom, how often it was tried and what came of it', async () => {
    const job = await toldJob()
    await refuse(started(job))
    const answer = await door.ask('GET', `/deliveries?job=${jobId(job)}`)
    expect(answer.status).toBe(200)
    expect(answer.body.page).toEqual({ number: 1, of: 1 })
    expect(answer.body.deliveries).toEqual([
      {
        id: finished(job),
        jobId: jobId(job),
        event: 'jobFinished',
        channel: 'callback',
        receiver: 'http://cb/jobs',
        state: 'OPEN',
        attempts: 0,
        createdDate: clock.now().toISOString(),
        attemptedDate: '',
        finishedDate: '',
      },
      {
        id: started(job),
        jobId: jobId(job),
        event: 'jobStarted',
        channel: 'callback',
        receiver: 'http://cb/jobs',
        state: 'GIVEN_UP',
        attempts: 1,
        lastStatus: 500,
        lastError: 'the receiver answered 500',
        createdDate: clock.now().toISOString(),
        attemptedDate: clock.now().toISOString(),
        finishedDate: clock.now().toISOString(),
      },
    ])
    expect((await door.ask('GET', `/deliveries/${started(job)}`)).body).toEqual(
      (answer.body.deliveries as unknown[])[1],
    )
  })

  test('is paged, latest first, and narrowed by job and state', async () => {
    const jobs = [await toldJob(), await toldJob(), await toldJob()]
    await refuse(started(jobs[1]!))
    const page = async (query: string) => (await door.ask('GET', `/deliveries?${query}`)).body
    const ids = async (query: string) => ((await page(query)).deliveries as { id: string }[]).map(({ id }) => id)
    expect(await ids('size=3')).toEqual([finished(jobs[2]!), started(jobs[2]!), finished(jobs[1]!)])
    expect(await ids('size=3&start=2')).toEqual([started(jobs[1]!), finished(jobs[0]!), started(jobs[0]!)])
    expect((await page('size=3')).page).toMatchObject({ number: 1, of: 3 })
    expect((await ids('state=GIVEN_UP'))[0]).toBe(started(jobs[1]!))
    expect(await ids(`job=${jobId(jobs[1]!)}&state=OPEN`)).toEqual([finished(jobs[1]!)])
    expect((await door.ask('GET', '/deliveries?state=DELIVERED')).status).toBe(204)
  })

  test.each([
    ['job=1', 'job'],
    ['state=LOST', 'state'],
    ['size=0', 'size'],
  ])('refuses %s and names it', async (query, field) => {
    const answer = await door.ask('GET', `/deliveries?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(`"name":"${field}"`)
  })
})

describe('a repeat', () => {
  test('opens what was given up', async () => {
    const job = await toldJob()
    await refuse(started(job))
    const answer = await door.ask('POST', `/deliveries/${started(job)}/repeat`)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: started(job), state: 'OPEN', attempts: 1, finishedDate: '' })
  })

  test('and a reading are of the own organization only, and a viewer may not repeat', async () => {
    const job = await toldJob()
    const others = openDoor({ ...caller, organization: caller.organization + 1 }, app =>
      deliveryRoutes(app, { database, queue, clock }),
    )
    for (const id of [started(job), 'no-delivery']) {
      expect((await others.ask('GET', `/deliveries/${id}`)).status).toBe(404)
      expect((await others.ask('POST', `/deliveries/${id}/repeat`)).status).toBe(404)
    }
    const viewer = openDoor({ ...caller, profile: 'viewer' }, app => deliveryRoutes(app, { database, queue, clock }))
    expect((await viewer.ask('GET', `/deliveries/${started(job)}`)).status).toBe(200)
    expect((await viewer.ask('POST', `/deliveries/${started(job)}/repeat`)).status).toBe(403)
  })
})

test('the finished notification carries the first page of the listing, without its cursor', async () => {
  const job = await toldJob()
  const told = await toldOperations(database)(caller.organization, job, 2)
  expect(told.page).toEqual({ number: 1, of: 2 })
  expect(told.operations).toHaveLength(2)
  expect(told.operations[0]).toMatchObject({ jobId: jobId(job), entityId: expect.any(String), steps: [] })
  await expect(toldOperations(database)(caller.organization, parseJobId('0000000000000001')!, 2)).rejects.toThrow(
    'is gone',
  )
})

test('where operations are long the finished notification carries fewer, and counts pages of as many', async () => {
  const job = await toldJob()
  const whole = await toldOperations(database)(caller.organization, job, 100)
  expect(whole).toMatchObject({ page: { number: 1, of: 1 } })
  const [first, ...others] = whole.operations
  expect(others).not.toEqual([])
  const bytesOf = (operation: unknown) => Buffer.byteLength(JSON.stringify(operation))
  // No room for the second one; the first is told however long it is.
  for (const bytesMax of [bytesOf(first) + 1, 1]) {
    const told = await toldOperations(database, bytesMax)(caller.organization, job, 100)
    expect(told).toEqual({ page: { number: 1, of: whole.operations.length }, operations: [first] })
  }
})
