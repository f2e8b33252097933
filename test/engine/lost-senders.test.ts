import { expect, test } from 'vitest'
import type { SendReport } from '../../src/engine/connector.ts'
import { enterLaunchGate } from '../../src/store/launch-gate.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase } from '../database.ts'
import { deviceOf, ids, obedient, operationOf, SECOND, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

async function twoNodes() {
  const { database, close } = await createTestDatabase()
  const one = await createWorkbench(database)
  const two = await createWorkbench(database, { node: 2, clock: one.clock })
  await one.provision(['d1'])
  const create = (retries = 0) =>
    one.jobs.create(
      one.caller,
      jobRequest({
        target: { append: { entities: ['d1'] } },
        operationParameters: {
          ackTimeout: 60_000,
          timeout: 60_000,
          retries,
          retriesDelay: 0,
          retryResultList: [],
        },
      }),
    )
  const beat = async () => {
    for (const bench of [one, two]) {
      if (!bench.database.isDead()) await bench.engine.loops.get('node-keeper')!.runOnce(one.clock.now())
    }
  }
  /** Goes on second by second, both nodes living; only the loops named run beside their heartbeats. */
  const live = async (seconds: number, benches = [one, two]) => {
    for (let i = 0; i < seconds; i += 1) {
      await one.clock.advanceBy(SECOND)
      await beat()
      for (const bench of benches) await bench.settle()
    }
  }
  return { one, two, create, beat, live, close }
}

test('what a dead node had claimed and not sent is sent by another within ten seconds, same attempt, timers kept', async () => {
  const { one, two, create, close } = await twoNodes()
  one.device = () => {}
  two.device = obedient()
  const { job } = await create()
  await one.settle()
  const before = await operationOf(two, job, 'd1')
  expect(before).toMatchObject({ status: 'QUEUED', attempt: 1, sender: 1 })
  await one.abandon()
  await two.advance(3 * SECOND)
  expect(two.sent).toEqual([])
  await two.advance(7 * SECOND)
  expect(two.sent.map(request => request.id)).toEqual(one.sent.map(request => request.id))
  expect(await operationOf(two, job, 'd1')).toMatchObject({
    status: 'FINISHED',
    attempt: 1,
    startedAt: before.startedAt,
  })
  await close()
})

test('what a living node is still sending is not given back', async () => {
  const { one, two, create, live, close } = await twoNodes()
  one.device = () => {}
  const { job } = await create()
  await one.settle()
  await live(30)
  expect([one.sent.length, two.sent.length]).toEqual([1, 0])
  expect(await operationOf(two, job, 'd1')).toMatchObject({ status: 'QUEUED' })
  await close()
})

test('a send timer of an earlier attempt does not touch what another node sends now', async () => {
  const { one, two, create, live, close } = await twoNodes()
  const reports: ((report: SendReport) => void)[] = []
  one.device = (_, report) => reports.push(report)
  two.device = () => {}
  const { job } = await create(1)
  await one.settle()
  await live(2)
  reports[0]!({ seen: 'unreachable', description: 'refused' })
  while (one.database.underWay() === 0) await new Promise(resolve => setTimeout(resolve, 1))
  while (one.database.underWay() > 0) await new Promise(resolve => setTimeout(resolve, 1))
  await two.settle()
  expect(await operationOf(two, job, 'd1')).toMatchObject({ status: 'QUEUED', attempt: 2, sender: 2 })
  await live(6, [one, two])
  expect(two.sent.length).toBe(1)
  expect(one.sent.length).toBe(1)
  await close()
})

test('a request that a connector does not send is given back soon, and at once when the node stops', async () => {
  const { one, two, create, close } = await twoNodes()
  let refusals = 0
  one.device = (request, report) => {
    refusals += 1
    if (refusals === 1) report({ seen: 'notSent' })
    else silent(request, report)
  }
  const { job } = await create()
  await one.settle()
  expect(one.sent.length).toBe(1)
  await one.advance(2 * SECOND)
  expect(one.sent.length).toBe(2)
  expect(await operationOf(one, job, 'd1')).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 1 })

  await one.provision(['d2'])
  one.device = (_, report) => report({ seen: 'notSent' })
  const { job: next } = await one.jobs.create(one.caller, jobRequest({ target: { append: { entities: ['d2'] } } }))
  await one.settle()
  await one.engine.stop()
  two.device = obedient()
  await two.settle()
  expect(await summaryOfJob(two, next)).toMatchObject({ status: 'FINISHED' })
  await close()
})

test('a thousand timers that are due at once do not keep what a dead node had in hand waiting for its turn', async () => {
  const { one, two, create, beat, close } = await twoNodes()
  one.device = () => {}
  const { job } = await create()
  await one.settle()
  const { partition, entity } = await deviceOf(two, 'd1')
  // Of operations that have moved on since, as most deadlines are.
  await two.database.query(sql`
    insert into operation_timer (due_at, duty, node, jobs, partitions, entities)
    select ${one.clock.now()}, 'deadline', null, array[${job}::bigint], array[${partition}::smallint], array[${entity}::bigint]
      from generate_series(1, 1000)`)
  await one.abandon()
  await two.clock.advanceBy(8 * SECOND)
  await beat()
  await two.engine.loops.get('deadline-keeper')!.runOnce(two.clock.now())
  await two.engine.loops.get('operation-dispatcher')!.runOnce(two.clock.now())
  expect(two.sent.length).toBe(1)
  await close()
})

test('a host that takes no more does not draw a whole job into the queue', async () => {
  const { database, close } = await createTestDatabase()
  const bench = await createWorkbench(database)
  const devices = ids('full', 4_000)
  await bench.provision(devices)
  bench.device = (_, report) => report({ seen: 'notSent' })
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target: { append: { entities: devices } } }))
  const dispatcher = bench.engine.loops.get('operation-dispatcher')!
  for (let turn = 0; turn < 20; turn += 1) await dispatcher.runOnce(bench.clock.now())
  expect((await summaryOfJob(bench, job)).inProgress).toMatchObject({ pendingExecution: 1_000, scheduled: 3_000 })
  await bench.abandon()
  await close()
})

test('a node that stands still between its claim and its sending holds nobody up, and sends nothing when it goes on', async () => {
  const { one, two, create, close } = await twoNodes()
  one.device = obedient()
  two.device = obedient()
  const { job } = await create()
  const { transaction } = one.database
  one.database.transaction = async (...asked) => {
    const done = await transaction(...asked)
    if ((await operationOf(two, job, 'd1')).status === 'QUEUED' && two.sent.length === 0) {
      one.database.transaction = transaction
      await two.advance(10 * SECOND)
    }
    return done
  }
  await one.engine.loops.get('operation-dispatcher')!.runOnce(one.clock.now())
  expect(two.sent.length).toBe(1)
  expect(await operationOf(two, job, 'd1')).toMatchObject({ status: 'FINISHED', attempt: 1 })
  await one.advance(10 * SECOND)
  expect([one.sent.length, two.sent.length]).toEqual([0, 1])
  await close()
})

test('a node that goes on after a while takes its own claim up again where nobody else has, and sends it once', async () => {
  const { one, create, close } = await twoNodes()
  const { transaction } = one.database
  one.database.transaction = async (...asked) => {
    const done = await transaction(...asked)
    await one.clock.advanceBy(3 * SECOND)
    return done
  }
  const { job } = await create()
  await one.engine.loops.get('operation-dispatcher')!.runOnce(one.clock.now())
  one.database.transaction = transaction
  expect(one.sent).toEqual([])
  one.device = obedient()
  await one.beat()
  await one.advance(3 * SECOND)
  expect(one.sent.length).toBe(1)
  expect(await operationOf(one, job, 'd1')).toMatchObject({ status: 'FINISHED', attempt: 1 })
  await close()
})

test('a process that stands still in the middle of a claim lets go before a cancel gives up waiting for it', async () => {
  const { one, two, create, close } = await twoNodes()
  const { job } = await create()
  const standing = Promise.withResolvers<void>()
  const inside = Promise.withResolvers<void>()
  let tries = 0
  const stuck = one.database.transaction(async tx => {
    tries += 1
    await enterLaunchGate(tx)
    inside.resolve()
    await standing.promise
  })
  await inside.promise
  await expect(two.jobs.cancel(two.caller, job)).resolves.toMatchObject({ status: 'CANCELLED' })
  standing.resolve()
  // What was ended under it is done again.
  await stuck
  expect(tries).toBe(2)
  await close()
})
