import { describe, expect, onTestFinished, test } from 'vitest'
import { createClock } from '../../src/engine/clock.ts'
import type { SendDelivery } from '../../src/engine/connector.ts'
import { GIVE_UP_AFTER_MS, PAUSES } from '../../src/service/deliveries.ts'
import { openDeliveryQueue } from '../../src/store/delivery-queue.ts'
import { sql } from '../../src/store/statement.ts'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { silentLog } from '../database.ts'
import {
  database,
  ended,
  enqueuer,
  finish,
  forget,
  hour,
  jobsWith,
  jobWith,
  logged,
  read,
  runWorker,
  start,
} from './delivery-desk.ts'

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
