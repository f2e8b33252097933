/** Jobs that tell of themselves, and workers that deliver it: what every test of deliveries stands on. */
import { beforeAll, onTestFinished } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { createCallbackConnector } from '../../src/connectors/callback.ts'
import { type DeliveryChannel, deliveryId } from '../../src/domain/delivery.ts'
import type { JobRequest } from '../../src/domain/job.ts'
import { createClock } from '../../src/engine/clock.ts'
import { createDeliveryEnqueuer } from '../../src/engine/deliveries.ts'
import {
  createDeliveryWorker,
  type DeliveryWorker,
  type DeliveryWorkerOptions,
} from '../../src/engine/delivery-worker.ts'
import { CounterDeltas, writeDeltas } from '../../src/store/counters.ts'
import { readDelivery } from '../../src/store/deliveries.ts'
import { type DeliveryQueue, openDeliveryQueue } from '../../src/store/delivery-queue.ts'
import { insertJob, type StoredJob } from '../../src/store/jobs.ts'
import { sql } from '../../src/store/statement.ts'
import { silentLog, testDatabase } from '../database.ts'

export const { database, url } = await testDatabase({ max: 10 })
export const pauses = { firstMs: 1_000, longestMs: 1_000 }
export const hour = 3_600_000
const names = { jobStarted: 'jobStarted', jobFinished: 'jobFinished' }

export let queue: DeliveryQueue
let lastJob = 0x20000000000000n

beforeAll(async () => {
  queue = await openDeliveryQueue({ database, log: silentLog, supervise: false, pauses })
  await database.query(sql`
    insert into organization (organization, name, created_at) overriding system value
    values (1, 'one', '2026-01-01Z'), (2, 'other', '2026-01-01Z')`)
  return () => queue.stop()
})

export const request = (callback: string, more: Partial<JobRequest> = {}): JobRequest => ({
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
export async function jobWith(callback: string, more: Partial<StoredJob> = {}): Promise<StoredJob> {
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

export const jobsWith = (callback: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => jobWith(callback)))

export const ended = (job: StoredJob, more: Partial<StoredJob> = {}): StoredJob => ({
  ...job,
  status: 'FINISHED_WITH_ERRORS',
  finishedAt: new Date('2026-03-01T10:05:00Z'),
  errorCode: '0x020012',
  errorDescription: 'ERROR_TIMEOUT: 1',
  ...more,
})

export function enqueuer(through: DeliveryQueue = queue, hosts: { mailHost?: string; trapHost?: string } = {}) {
  return createDeliveryEnqueuer({
    queue: through,
    mailHost: hosts.mailHost ?? null,
    trapHost: hosts.trapHost ?? null,
  })
}

export const start = (...jobs: StoredJob[]) => database.transaction(tx => enqueuer().started(tx, jobs, new Date()))
export const finish = (...jobs: StoredJob[]) => database.transaction(tx => enqueuer().finished(tx, jobs, new Date()))

/** Nothing that one test left open is for the next. */
export async function forget(): Promise<void> {
  await database.query(sql`delete from pgboss.job`)
  await database.query(sql`delete from delivery`)
}

interface RunningOptions extends Partial<DeliveryWorkerOptions> {
  attemptMs?: number
  /** what the clock is ahead of the machine's, read each time */
  aheadMs?: () => number
}

/** A worker as a process runs it, ended with the test. */
export function runWorker({ attemptMs = 1_000, aheadMs = () => 0, ...options }: RunningOptions = {}) {
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

export const read = (job: StoredJob, channel: DeliveryChannel, event: 'jobStarted' | 'jobFinished') =>
  readDelivery(database, job.organization, deliveryId(job.job, channel, event))

/** Lets the worker attempt what is due, and reads when that is logged. */
export async function logged<T>(worker: DeliveryWorker, look: () => Promise<T>): Promise<T> {
  await worker.runOnce(new Date())
  await worker.settled()
  return look()
}
