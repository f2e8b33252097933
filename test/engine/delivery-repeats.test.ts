import { describe, expect, onTestFinished, test } from 'vitest'
import { deliveryId } from '../../src/domain/delivery.ts'
import { repeatDelivery } from '../../src/engine/deliveries.ts'
import { openDeliveryQueue } from '../../src/store/delivery-queue.ts'
import { sql } from '../../src/store/statement.ts'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { silentLog } from '../database.ts'
import {
  database,
  ended,
  enqueuer,
  forget,
  hour,
  jobWith,
  logged,
  queue,
  read,
  request,
  runWorker,
  start,
} from './delivery-desk.ts'

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
