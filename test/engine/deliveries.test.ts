import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { createCallbackConnector } from '../../src/connectors/callback.ts'
import type { DeliveryChannel } from '../../src/domain/delivery.ts'
import { deliveryId } from '../../src/domain/delivery.ts'
import { jobId } from '../../src/domain/identity.ts'
import type { JobRequest } from '../../src/domain/job.ts'
import { createClock } from '../../src/engine/clock.ts'
import type { SendDelivery } from '../../src/engine/connector.ts'
import { createDeliveryEnqueuer, reenterDeliveries, repeatDelivery } from '../../src/engine/deliveries.ts'
import {
  createDeliveryWorker,
  type DeliveryWorker,
  type DeliveryWorkerOptions,
} from '../../src/engine/delivery-worker.ts'
import { GIVE_UP_AFTER_MS, PAUSES } from '../../src/service-deliveries.ts'
import { CounterDeltas, writeDeltas } from '../../src/store/counters.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { listDeliveries, readDelivery } from '../../src/store/deliveries.ts'
import { type DeliveryQueue, openDeliveryQueue } from '../../src/store/delivery-queue.ts'
import { insertJob, type StoredJob } from '../../src/store/jobs.ts'
import { sql } from '../../src/store/statement.ts'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { createTestDatabase, silentLog, testDatabase } from '../database.ts'
import { stressLoop } from '../loop-stress.ts'

const { database, url } = await testDatabase({ max: 10 })
const pauses = { firstMs: 1_000, longestMs: 1_000 }
const hour = 3_600_000
const names = { jobStarted: 'jobStarted', jobFinished: 'jobFinished' }

let queue: DeliveryQueue
let lastJob = 0x20000000000000n

beforeAll(async () => {
  queue = await openDeliveryQueue({ database, log: silentLog, supervise: false, pauses })
  await database.query(sql`
    insert into organization (organization, name, created_at) overriding system value
    values (1, 'one', '2026-01-01Z'), (2, 'other', '2026-01-01Z')`)
  return () => queue.stop()
})

const request = (callback: string, more: Partial<JobRequest> = {}): JobRequest => ({
  name: 'REBOOT_EQUIPMENT',
  parameters: { type: 'HARDWARE' },
  target: { append: { entities: ['d1', 'd2', 'd3'] } },
  active: true,
  schedule: {},
  operationParameters: { ackTimeout: 0, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] },
  notify: false,
  callback,
  ...more,
})

/** A job that is under way, of three operations that ended. */
async function jobWith(callback: string, more: Partial<StoredJob> = {}): Promise<StoredJob> {
  lastJob += 1n
  const job: StoredJob = {
    job: lastJob,
    organization: 1,
    task: null,
    name: 'REBOOT_EQUIPMENT',
    userEmail: 'ann@example.com',
    request: request(callback),
    status: 'IN_PROGRESS',
    unresolved: [],
    refused: {},
    warnings: [],
    createdAt: new Date('2026-03-01T10:00:00Z'),
    activatedAt: new Date('2026-03-01T10:00:00Z'),
    startedAt: new Date('2026-03-01T10:00:01Z'),
    finishedAt: null,
    startAt: null,
    stopAt: null,
    wakeAt: null,
    resolveFailures: 0,
    ackTimeoutMs: 0,
    timeoutMs: 60_000,
    retries: 0,
    retriesDelayMs: 0,
    retryResults: [],
    places: 0,
    spreadMs: 0,
    launchAt: null,
    overdueFrom: 0,
    overduePlaces: 0,
    overdueAt: null,
    overdueMs: 0,
    errorCode: null,
    errorDescription: null,
    ...more,
  }
  await insertJob(database, job)
  const counted = new CounterDeltas()
  counted.move(job.job, null, 'successful', 2)
  counted.move(job.job, null, 'by_timeout')
  await writeDeltas(database, counted)
  return job
}

const jobsWith = (callback: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => jobWith(callback)))

const ended = (job: StoredJob, more: Partial<StoredJob> = {}): StoredJob => ({
  ...job,
  status: 'FINISHED_WITH_ERRORS',
  finishedAt: new Date('2026-03-01T10:05:00Z'),
  errorCode: '0x020012',
  errorDescription: 'ERROR_TIMEOUT: 1',
  ...more,
})

function enqueuer(through: DeliveryQueue = queue, hosts: { mailHost?: string; trapHost?: string } = {}) {
  return createDeliveryEnqueuer({
    queue: through,
    mailHost: hosts.mailHost ?? null,
    trapHost: hosts.trapHost ?? null,
  })
}

const start = (...jobs: StoredJob[]) => database.transaction(tx => enqueuer().started(tx, jobs, new Date()))
const finish = (...jobs: StoredJob[]) => database.transaction(tx => enqueuer().finished(tx, jobs, new Date()))

/** Nothing that one test left open is for the next. */
async function forget(): Promise<void> {
  await database.query(sql`delete from pgboss.job`)
  await database.query(sql`delete from delivery`)
}

interface RunningOptions extends Partial<DeliveryWorkerOptions> {
  attemptMs?: number
  /** what the clock is ahead of the machine's, read each time */
  aheadMs?: () => number
}

/** A worker as a process runs it, ended with the test. */
function runWorker({ attemptMs = 1_000, aheadMs = () => 0, ...options }: RunningOptions = {}) {
  const callbacks = createCallbackConnector({
    rules: addressRules({ allowLoopback: true }),
    allowHttps: false,
    names,
    secret: 'a secret to sign with',
    attemptMs,
  })
  const worker = createDeliveryWorker({
    database,
    queue,
    clock: createClock(() => Date.now() + aheadMs()),
    log: silentLog,
    senders: { callback: callbacks.send },
    readOperations: async () => ({ page: { number: 1, of: 1 }, operations: [{ operationId: 'o1' }] }),
    giveUpAfterMs: 24 * hour,
    ...options,
  })
  worker.start()
  const stop = async () => {
    await worker.stop()
    await callbacks.close()
  }
  onTestFinished(stop)
  return { ...worker, stop }
}

const read = (job: StoredJob, channel: DeliveryChannel, event: 'jobStarted' | 'jobFinished') =>
  readDelivery(database, job.organization, deliveryId(job.job, channel, event))

/** Lets the worker attempt what is due, and reads when that is logged. */
async function logged<T>(worker: DeliveryWorker, look: () => Promise<T>): Promise<T> {
  await worker.runOnce(new Date())
  await worker.settled()
  return look()
}

describe('a job with a callback', () => {
  test('tells its start and then its end, each to the letter', async () => {
    const receiver = await createCallbackReceiver()
    runWorker()
    const job = await jobWith(`${receiver.url}/jobs/`)
    await start(job)
    await finish(ended(job))
    const [first, second] = await receiver.hears(2)
    expect(first?.path).toBe('/jobs/jobStarted')
    expect(JSON.parse(first?.body ?? '')).toStrictEqual({
      job: {
        id: jobId(job.job),
        request: {
          name: 'REBOOT_EQUIPMENT',
          parameters: { type: 'HARDWARE' },
          notify: false,
          user: 'ann@example.com',
        },
        report: {
          execution: {
            activatedDate: '2026-03-01T10:00:00.000Z',
            startedDate: '2026-03-01T10:00:01.000Z',
            finishedDate: '',
          },
        },
      },
    })
    expect(second?.path).toBe('/jobs/jobFinished')
    expect(JSON.parse(second?.body ?? '')).toStrictEqual({
      job: {
        id: jobId(job.job),
        request: { ...job.request, user: 'ann@example.com' },
        report: {
          execution: {
            activatedDate: '2026-03-01T10:00:00.000Z',
            startedDate: '2026-03-01T10:00:01.000Z',
            finishedDate: '2026-03-01T10:05:00.000Z',
          },
          summary: {
            status: 'FINISHED_WITH_ERRORS',
            total: 3,
            inProgress: { total: 0, scheduled: 0, pendingExecution: 0, waitingForConnection: 0, started: 0 },
            finished: {
              total: 3,
              successful: 2,
              error: 0,
              cancelled: {
                total: 1,
                byUser: 0,
                byEngine: 0,
                byTimeout: 1,
                byExternalTimeout: 0,
                byExternal: 0,
                byAlreadyInProgress: 0,
              },
            },
            finishedOutOfTime: { total: 0, successful: 0, error: 0 },
            errorCode: '0x020012',
            errorDescription: 'ERROR_TIMEOUT: 1',
          },
        },
        result: { page: { number: 1, of: 1 }, operations: [{ operationId: 'o1' }] },
      },
    })
    expect(second?.headers['webhook-id']).toBe(deliveryId(job.job, 'callback', 'jobFinished'))
  })

  test('has no error in its summary unless it finished with errors', async () => {
    const receiver = await createCallbackReceiver()
    runWorker()
    await finish(ended(await jobWith(receiver.url), { status: 'FINISHED', errorCode: null, errorDescription: null }))
    const { job } = JSON.parse((await receiver.hears(1))[0]?.body ?? '')
    expect(job.report.summary.status).toBe('FINISHED')
    expect(job.report.summary).not.toHaveProperty('errorCode')
  })

  test('that is cancelled before its start tells its end only', async () => {
    const receiver = await createCallbackReceiver()
    runWorker()
    const job = await jobWith(receiver.url, { startedAt: null })
    await finish(ended(job, { status: 'CANCELLED' }))
    const heard = await receiver.hears(1)
    expect(heard[0]?.path).toBe('/jobFinished')
    expect(JSON.parse(heard[0]?.body ?? '').job.report.execution.startedDate).toBe('')
    expect(await read(job, 'callback', 'jobStarted')).toBeUndefined()
  })

  test('tells its start first also where both were entered in one transaction', async () => {
    const receiver = await createCallbackReceiver()
    const jobs = await jobsWith(receiver.url, 20)
    await database.transaction(async tx => {
      await enqueuer().finished(
        tx,
        jobs.map(job => ended(job)),
        new Date(),
      )
      await enqueuer().started(tx, jobs, new Date())
    })
    runWorker()
    const heard = await receiver.hears(40)
    for (const job of jobs) {
      const ofJob = heard.filter(({ body }) => JSON.parse(body).job.id === jobId(job.job))
      expect(ofJob.map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])
    }
  })

  test('tells its start first also where the transaction that ended it began before the one that started it', async () => {
    const receiver = await createCallbackReceiver()
    const job = await jobWith(receiver.url)
    await database.transaction(async tx => {
      await tx.query(sql`select 1`)
      await start(job)
      await enqueuer().finished(tx, [ended(job)], new Date())
    })
    runWorker()
    const heard = await receiver.hears(2)
    expect(heard.map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])
  })

  test('tells nothing where the transaction that moved it was rolled back, and once where it was told of twice', async () => {
    const receiver = await createCallbackReceiver()
    const [undone, twice] = [await jobWith(receiver.url), await jobWith(receiver.url)]
    const rolledBack = database.transaction(async tx => {
      await enqueuer().started(tx, [undone], new Date())
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    await start(twice)
    await start(twice)
    await finish(ended(twice))
    runWorker()
    const heard = await receiver.hears(2)
    expect(heard.map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])
    expect(await read(undone, 'callback', 'jobStarted')).toBeUndefined()
  })
})

test('a job without a callback and without notify tells nobody', async () => {
  const job = await jobWith('')
  await start(job)
  await finish(ended(job))
  const page = await listDeliveries(database, { organization: 1, job: job.job, state: null }, { offset: 0, size: 10 })
  expect(page).toEqual({ deliveries: [], count: 0 })
})

test('a job with notify is told by mail to its user and by trap, where these are configured, and at its end only', async () => {
  const sent: { receiver: string; body: string }[] = []
  const note: SendDelivery = async ({ receiver, body }) => {
    sent.push({ receiver, body })
    return { taken: true }
  }
  const told = enqueuer(queue, { mailHost: 'mail.example', trapHost: 'trap.example:162' })
  const job = await jobWith('', { request: request('', { notify: true, userNotes: 'at night' }) })
  await database.transaction(async tx => {
    await told.started(tx, [job], new Date())
    await told.finished(tx, [ended(job), ended(await jobWith(''))], new Date())
  })
  const worker = runWorker({ senders: { mail: note, trap: note } })
  await logged(worker, () => Promise.all([read(job, 'mail', 'jobFinished'), read(job, 'trap', 'jobFinished')]))
  expect(sent.map(({ receiver }) => receiver).sort()).toEqual(['', 'ann@example.com'])
  expect(JSON.parse(sent[0]?.body ?? '')).toMatchObject({
    id: jobId(job.job),
    name: 'REBOOT_EQUIPMENT',
    user: 'ann@example.com',
    userNotes: 'at night',
    execution: { finishedDate: '2026-03-01T10:05:00.000Z' },
    summary: { status: 'FINISHED_WITH_ERRORS', total: 3 },
  })
})

describe('a receiver that refuses', () => {
  test('is tried again with the same body and id, and hears the end only when it has taken the start', async () => {
    const receiver = await createCallbackReceiver()
    receiver.answer((response, { path }) => {
      const refusals = receiver.heard.filter(each => each.path === path).length
      response.writeHead(refusals < 2 ? 500 : 204).end()
    })
    let reads = 0
    const worker = runWorker({
      readOperations: async () => ({ page: { number: 1, of: 1 }, operations: [{ reading: ++reads }] }),
    })
    const job = await jobWith(receiver.url)
    await start(job)
    await finish(ended(job))
    const heard = await receiver.hears(4)
    expect(heard.map(({ path }) => path)).toEqual(['/jobStarted', '/jobStarted', '/jobFinished', '/jobFinished'])
    expect(heard[3]?.body).toBe(heard[2]?.body)
    expect(heard[3]?.headers['webhook-id']).toBe(heard[2]?.headers['webhook-id'])
    expect(reads).toBe(1)
    const log = await logged(worker, () => read(job, 'callback', 'jobFinished'))
    expect(log).toMatchObject({ attempts: 2, lastStatus: 204, lastError: null })
  })

  test('is given up after 24 hours, which lets the end be told, and never blocks the job for ever', async () => {
    const receiver = await createCallbackReceiver()
    receiver.answer((response, { path }) => void response.writeHead(path === '/jobStarted' ? 503 : 200).end())
    let aheadMs = 0
    const worker = runWorker({ aheadMs: () => aheadMs })
    const job = await jobWith(receiver.url)
    await start(job)
    await finish(ended(job))
    await receiver.hears(1)
    const refused = await logged(worker, () => read(job, 'callback', 'jobStarted'))
    expect(refused).toMatchObject({ state: 'OPEN', lastStatus: 503, lastError: 'the receiver answered 503' })
    aheadMs = 24 * hour + 1_000
    const heard = await receiver.hears(3)
    expect(heard.map(({ path }) => path)).toEqual(['/jobStarted', '/jobStarted', '/jobFinished'])
    expect(await read(job, 'callback', 'jobStarted')).toMatchObject({ state: 'GIVEN_UP', attempts: 2 })
    const failed = await database.query(sql`select 1 from pgboss.job where state = 'failed'`)
    expect(failed).toEqual([])
  })

  test('is tried for 24 hours of the clock, after pauses that grow from seconds to an hour', async () => {
    await forget()
    const receiver = await createCallbackReceiver()
    receiver.answer(response => void response.writeHead(500).end())
    const patient = await openDeliveryQueue({ database, log: silentLog, supervise: false, pauses: PAUSES })
    onTestFinished(() => patient.stop())
    let aheadMs = 0
    const worker = runWorker({ queue: patient, aheadMs: () => aheadMs, giveUpAfterMs: GIVE_UP_AFTER_MS })
    const job = await jobWith(receiver.url)
    await database.transaction(tx => enqueuer(patient).started(tx, [job], new Date()))
    const pausesMs: number[] = []
    for (let attempt = 1; ; attempt += 1) {
      await receiver.hears(attempt)
      const { state, attempts } = (await logged(worker, () => read(job, 'callback', 'jobStarted')))!
      expect(attempts).toBe(attempt)
      if (state === 'GIVEN_UP') break
      // The queue keeps the server's time: what it would wait for is let go by at once, on the clock too.
      const [{ ms }] = (await database.query<{ ms: number }>(sql`
        with waiting as (select id, start_after from pgboss.job where state = 'retry'),
             due as (update pgboss.job j set start_after = now() from waiting w where j.id = w.id)
        select extract(epoch from start_after - now())::float8 * 1000 as ms from waiting`)) as [{ ms: number }]
      pausesMs.push(ms)
      aheadMs += ms
      worker.wake()
    }
    expect(pausesMs[0]).toBeLessThanOrEqual(2 * PAUSES.firstMs)
    expect(Math.max(...pausesMs)).toBeLessThanOrEqual(PAUSES.longestMs + 1_000)
    expect(Math.min(...pausesMs.slice(12))).toBeGreaterThan(PAUSES.longestMs / 3)
    // Each is drawn from a span that doubles, so that receivers do not hear all of theirs at once.
    for (const [index, ms] of pausesMs.slice(1).entries()) expect(ms).toBeGreaterThan(pausesMs[index]! / 3)
    const triedMs = pausesMs.reduce((sum, ms) => sum + ms, 0)
    expect(triedMs).toBeGreaterThanOrEqual(GIVE_UP_AFTER_MS - 60_000)
    expect(triedMs).toBeLessThan(GIVE_UP_AFTER_MS + PAUSES.longestMs + 60_000)
    expect(pausesMs.length).toBeLessThan(80)
  })

  test('delays only itself: a hundred silent deliveries leave the others as quick as ever', async () => {
    const [dead, live] = [await createCallbackReceiver(), await createCallbackReceiver()]
    dead.answer(() => {})
    runWorker({ attemptMs: 20_000, concurrency: 8, perReceiver: 4 })
    await start(...(await jobsWith(dead.url, 100)))
    await dead.hears(1)
    await start(...(await jobsWith(live.url, 20)))
    await live.hears(20)
    expect(dead.heard).toHaveLength(1)
    await forget()
  })
})

test('sixty receivers that let every attempt hang leave room for one that answers, though not one attempt has ended', async () => {
  await forget()
  const hanging = new Set<string>()
  const callback: SendDelivery = ({ receiver }, signal) => {
    if (receiver.includes('answers')) return Promise.resolve({ taken: true, status: 200 })
    hanging.add(receiver)
    return new Promise(resolve => signal.addEventListener('abort', () => resolve({ taken: false, error: 'stopped' })))
  }
  // Its clock stands still, so that nothing hangs for longer than a moment.
  const standing = createClock(() => Date.UTC(2026, 2, 1, 12))
  const worker = runWorker({ clock: standing, senders: { callback }, concurrency: 100, perReceiver: 8 })
  for (let n = 0; n < 60; n += 1) await start(...(await jobsWith(`http://hangs-${n}.example/`, 5)))
  await expect.poll(() => hanging.size).toBe(60)
  const jobs = await jobsWith('http://answers.example/', 20)
  await start(...jobs)
  for (const job of jobs) {
    await expect.poll(async () => (await read(job, 'callback', 'jobStarted'))?.state).toBe('DELIVERED')
  }
  await worker.stop()
  await forget()
})

describe('deliveries survive', () => {
  test('a restart: what one process entered, the next delivers', async () => {
    const receiver = await createCallbackReceiver()
    const first = openDatabase({ url, log: silentLog })
    const firstQueue = await openDeliveryQueue({ database: first, log: silentLog, supervise: true, pauses })
    const job = await jobWith(receiver.url)
    await first.transaction(tx => enqueuer(firstQueue).started(tx, [job], new Date()))
    await firstQueue.stop()
    await first.close()
    runWorker()
    const heard = await receiver.hears(1)
    expect(heard[0]?.path).toBe('/jobStarted')
  })

  test('a queue that was lost: what is open in the log is entered again, and nothing else', async () => {
    await forget()
    const receiver = await createCallbackReceiver()
    const [open, told] = [await jobWith(receiver.url), await jobWith(receiver.url)]
    await start(told)
    const worker = runWorker()
    await receiver.hears(1)
    await worker.stop()
    await start(open)
    await finish(ended(open))
    await database.query(sql`delete from pgboss.job`)
    await reenterDeliveries(database, queue)
    await reenterDeliveries(database, queue)
    runWorker()
    const heard = await receiver.hears(3)
    expect(heard.slice(1).map(({ body, path }) => [JSON.parse(body).job.id, path])).toEqual([
      [jobId(open.job), '/jobStarted'],
      [jobId(open.job), '/jobFinished'],
    ])
  })

  test('a process that died in the middle of an attempt: its claim is taken over', async () => {
    const receiver = await createCallbackReceiver()
    await start(await jobWith(receiver.url))
    const claims = await queue.claim(10, 4)
    expect(claims).toHaveLength(1)
    await database.query(
      sql`update pgboss.job set started_on = started_on - interval '2 minutes' where state = 'active'`,
    )
    runWorker()
    await queue.recover()
    const heard = await receiver.hears(1)
    expect(heard[0]?.path).toBe('/jobStarted')
  })

  test('a stop in the middle of an attempt, which is waited for and logged', async () => {
    const receiver = await createCallbackReceiver()
    let release = () => {}
    receiver.answer(response => {
      release = () => void response.end()
    })
    const worker = runWorker({ attemptMs: 10_000 })
    const job = await jobWith(receiver.url)
    await start(job)
    await receiver.hears(1)
    const stopped = worker.stop()
    release()
    await stopped
    expect(await read(job, 'callback', 'jobStarted')).toMatchObject({ state: 'DELIVERED', attempts: 1 })
  })
})

describe('a delivery', () => {
  test('is repeated on demand, with the same id, once it has ended', async () => {
    const receiver = await createCallbackReceiver()
    const worker = runWorker()
    const job = await jobWith(receiver.url)
    const id = deliveryId(job.job, 'callback', 'jobStarted')
    await start(job)
    await logged(worker, () => read(job, 'callback', 'jobStarted'))
    expect(await repeatDelivery(database, queue, 2, id, new Date())).toBeUndefined()
    const repeated = await repeatDelivery(database, queue, 1, id, new Date())
    expect(repeated).toMatchObject({ state: 'OPEN', endedAt: null })
    const heard = await receiver.hears(2)
    expect(heard[1]?.headers['webhook-id']).toBe(id)
    const log = await logged(worker, () => read(job, 'callback', 'jobStarted'))
    expect(log?.attempts).toBe(2)
  })

  test('that waits for its next attempt is tried at once on demand', async () => {
    const slow = await openDeliveryQueue({
      database,
      log: silentLog,
      supervise: false,
      pauses: { firstMs: hour, longestMs: hour },
    })
    onTestFinished(() => slow.stop())
    const receiver = await createCallbackReceiver()
    receiver.answer(response => void response.writeHead(receiver.heard.length === 1 ? 500 : 200).end())
    const worker = runWorker()
    const job = await jobWith(receiver.url)
    await database.transaction(tx => enqueuer(slow).started(tx, [job], new Date()))
    await logged(worker, () => read(job, 'callback', 'jobStarted'))
    await repeatDelivery(database, queue, 1, deliveryId(job.job, 'callback', 'jobStarted'), new Date())
    expect(await receiver.hears(2)).toHaveLength(2)
  })

  test('of a channel that is not configured any more says so in the log', async () => {
    const job = await jobWith('', { request: request('', { notify: true }) })
    await database.transaction(tx =>
      enqueuer(queue, { mailHost: 'mail.example' }).finished(tx, [ended(job)], new Date()),
    )
    const worker = runWorker()
    const log = await logged(worker, () => read(job, 'mail', 'jobFinished'))
    expect(log).toMatchObject({ state: 'OPEN', lastError: 'mail is not configured' })
    await forget()
  })

  test('leaves the queue with its organization', async () => {
    const receiver = await createCallbackReceiver()
    const job = await jobWith(receiver.url, { organization: 2 })
    await start(job)
    await database.query(sql`delete from organization where organization = 2`)
    const worker = runWorker()
    const waiting = await logged(worker, () => database.query(sql`select 1 from pgboss.job where state < 'completed'`))
    expect(waiting).toEqual([])
    expect(receiver.heard).toEqual([])
  })
})

test('a queue that has just grown to ten thousand is claimed from without delay', async () => {
  const fresh = await createTestDatabase({ statementTimeoutMs: 3_000 })
  onTestFinished(() => fresh.close())
  const grown = await openDeliveryQueue({ database: fresh.database, log: silentLog, supervise: false, pauses })
  const entry = (n: number) => ({
    delivery: deliveryId(BigInt(n), 'callback', 'jobStarted'),
    key: `${n}`,
    group: 'one',
  })
  for (let n = 0; n < 10_000; n += 2_000) {
    const entries = Array.from({ length: 2_000 }, (_, index) => entry(n + index))
    await fresh.database.transaction(tx => grown.enter(tx, entries))
  }
  expect(await grown.claim(50, 4)).toHaveLength(4)
  await grown.stop()
})

test('many processes may open the queue of a new database at the same time', async () => {
  const fresh = await createTestDatabase({ max: 3 })
  const databases: Database[] = Array.from({ length: 6 }, () =>
    openDatabase({ url: fresh.url, max: 3, log: silentLog }),
  )
  const opened = await Promise.all(
    databases.map(each => openDeliveryQueue({ database: each, log: silentLog, supervise: true, pauses })),
  )
  const queues = await fresh.database.query(sql`select name, policy from pgboss.queue where name = 'deliveries'`)
  expect(queues).toEqual([{ name: 'deliveries', policy: 'key_strict_fifo' }])
  await Promise.all(opened.map(each => each.stop()))
  await Promise.all(databases.map(each => each.close()))
  await fresh.close()
})

test('the delivery worker keeps the contract of every loop', async () => {
  const worker = createDeliveryWorker({
    database,
    queue,
    clock: createClock(Date.now),
    log: silentLog,
    senders: {},
    readOperations: async () => ({ page: { number: 1, of: 1 }, operations: [] }),
    giveUpAfterMs: hour,
  })
  await stressLoop(worker)
})
