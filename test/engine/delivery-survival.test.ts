import { describe, expect, test } from 'vitest'
import { jobId } from '../../src/domain/identity.ts'
import { reenterDeliveries } from '../../src/engine/deliveries.ts'
import { openDatabase } from '../../src/store/database.ts'
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
  jobWith,
  pauses,
  queue,
  read,
  runWorker,
  start,
  url,
} from './delivery-desk.ts'

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

  test('a database that goes away between a claim and its beginning: the same process begins it once it is back', async () => {
    await forget()
    const receiver = await createCallbackReceiver()
    const job = await jobWith(receiver.url)
    await start(job)
    let failures = 0
    const worker = runWorker({
      database: {
        ...database,
        async run(statement, params) {
          if (statement.name === 'deliveries_due' && failures++ === 0)
            throw new Error('Connection terminated unexpectedly')
          return await database.run(statement, params)
        },
      },
    })
    await receiver.hears(1)
    await worker.settled()
    expect(failures).toBeGreaterThan(1)
    expect(await read(job, 'callback', 'jobStarted')).toMatchObject({ state: 'DELIVERED', attempts: 1 })
  })

  test('a stop while what was claimed cannot be begun: it is left to the next process at once', async () => {
    await forget()
    const receiver = await createCallbackReceiver()
    await start(await jobWith(receiver.url))
    const failing = Promise.withResolvers<void>()
    const worker = runWorker({
      database: {
        ...database,
        async run(statement, params) {
          if (statement.name !== 'deliveries_due') return await database.run(statement, params)
          failing.resolve()
          throw new Error('Connection terminated unexpectedly')
        },
      },
    })
    await failing.promise
    await worker.stop()
    expect(await database.query(sql`select from pgboss.job where state = 'active'`)).toEqual([])
    runWorker()
    await receiver.hears(1)
  })

  test('a database that goes away before what came too early is put back: it is told behind the start', async () => {
    await forget()
    const receiver = await createCallbackReceiver()
    const job = await jobWith(receiver.url)
    await finish(ended(job))
    await start(job)
    let failures = 0
    const worker = runWorker({
      database: {
        ...database,
        async transaction(work, options) {
          if (receiver.heard.length === 0 && failures++ === 0) throw new Error('Connection terminated unexpectedly')
          return await database.transaction(work, options)
        },
      },
    })
    const heard = await receiver.hears(2)
    expect(heard.map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])
    await worker.settled()
    expect(failures).toBeGreaterThan(1)
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
