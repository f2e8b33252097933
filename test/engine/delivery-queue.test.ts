import { expect, onTestFinished, test } from 'vitest'
import { deliveryId } from '../../src/domain/delivery.ts'
import { createClock } from '../../src/engine/clock.ts'
import { createDeliveryWorker } from '../../src/engine/delivery-worker.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { openDeliveryQueue } from '../../src/store/delivery-queue.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase, silentLog } from '../database.ts'
import { stressLoop } from '../loop-stress.ts'
import { database, hour, pauses, queue } from './delivery-desk.ts'

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
