import { expect, test } from 'vitest'
import { readLaunchSubjects } from '../../src/store/operation-devices.ts'
import { forgetCalls } from '../../src/store/presence.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { deviceOf, obedient, operationOf, SECOND, say, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest, type PretendDevice, type Workbench } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller, engine } = bench
const away: PretendDevice = (_, report) => report({ seen: 'away' })
let made = 0

async function jobOnNew(ackTimeout = 60_000) {
  made += 1
  const device = `mqtt-${made}`
  await bench.provision([device], { flow: 'mqtt' })
  bench.sent.length = 0
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: [device] } },
      operationParameters: { ackTimeout, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] },
    }),
  )
  return { job, device, numbers: await deviceOf(bench, device) }
}
const isConnected = async ({ database: db }: Workbench, numbers: { partition: number; entity: bigint }) =>
  (await readLaunchSubjects(db, [{ job: 0n, ...numbers }]))[0]!.mqttConnected

test('a device that is away is waited for, and sent to when it connects', async () => {
  bench.device = away
  const { job, device, numbers } = await jobOnNew()
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_CONNECTION', flow: 'mqtt' })
  bench.device = obedient()
  await engine.presence.connected(numbers, 'c1')
  await bench.settle()
  expect(bench.sent.length).toBe(2)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', attempt: 1 })
})

test('a device that is given a way over HTTP while "away" is being written is sent to at once', async () => {
  const { job, device, numbers } = await jobOnNew()
  bench.device = async (_, report) => {
    bench.device = obedient()
    await database.query(sql`update entity set flow = 'http' where entity = ${numbers.entity}`)
    report({ seen: 'away' })
  }
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', attempt: 1 })
})

test('a device that connects while "away" is being written is sent to at once', async () => {
  const { job, device, numbers } = await jobOnNew()
  bench.device = async (_, report) => {
    bench.device = obedient()
    await engine.presence.connected(numbers, 'c1')
    report({ seen: 'away' })
  }
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED' })
})

test('a device that is said to be connected and is not there is not sent round in a circle', async () => {
  await bench.provision(['stale'], { flow: 'mqtt' })
  await engine.presence.connected(await deviceOf(bench, 'stale'), 'c1')
  await bench.advance(5 * SECOND)
  bench.device = away
  bench.sent.length = 0
  const { job } = await jobs.create(caller, jobRequest({ target: { append: { entities: ['stale'] } } }))
  await bench.settle()
  expect(bench.sent.length).toBe(1)
  expect(await operationOf(bench, job, 'stale')).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
})

test('a device that reconnects before it acknowledged is sent to again, same attempt, timers kept', async () => {
  bench.device = silent
  const { job, device, numbers } = await jobOnNew()
  await bench.settle()
  const before = await operationOf(bench, job, device)
  expect(before).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 1 })
  await bench.advance(10 * SECOND)
  await engine.presence.connected(numbers, 'c2')
  await bench.settle()
  expect(bench.sent.map(request => request.id)).toEqual([bench.sent[0]!.id, bench.sent[0]!.id])
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'WAITING_FOR_ACK',
    attempt: 1,
    deadlineAt: (before as { deadlineAt: Date }).deadlineAt,
  })
  await bench.advance(51 * SECOND)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'TIMEOUT_CANCELLED' })
})

test('a device that a function reaches over MQTT is sent to again as well, by its function', async () => {
  await bench.provision(['spoken-for'], { flow: 'function:own' })
  const numbers = await deviceOf(bench, 'spoken-for')
  bench.sent.length = 0
  bench.device = (_, report) => report({ seen: 'sent', over: 'mqtt' })
  const { job } = await jobs.create(caller, jobRequest({ target: { append: { entities: ['spoken-for'] } } }))
  await bench.settle()
  await engine.presence.connected(numbers, 'c2')
  await bench.settle()
  expect(bench.sent.map(({ device }) => device.functionName)).toEqual(['own', 'own'])
  expect(await operationOf(bench, job, 'spoken-for')).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 1 })
  // What its function sent over HTTP is not lost with a connection over MQTT.
  await bench.provision(['called'], { flow: 'function:own' })
  bench.sent.length = 0
  bench.device = silent
  await jobs.create(caller, jobRequest({ target: { append: { entities: ['called'] } } }))
  await bench.settle()
  await engine.presence.connected(await deviceOf(bench, 'called'), 'c2')
  await bench.settle()
  expect(bench.sent.length).toBe(1)
})

test('without ackTimeout the timeout of a request that was sent again runs from the first time', async () => {
  bench.device = silent
  const { job, device, numbers } = await jobOnNew(0)
  await bench.settle()
  await bench.advance(40 * SECOND)
  await engine.presence.connected(numbers, 'c2')
  await bench.advance(21 * SECOND)
  expect(bench.sent.length).toBe(2)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'TIMEOUT_CANCELLED' })
})

test('a device that reconnects after its request was handed over, before that is written, is sent to again, same attempt', async () => {
  const { job, device, numbers } = await jobOnNew()
  bench.device = async (_, report) => {
    bench.device = obedient()
    await engine.presence.connected(numbers, 'c2')
    report({ seen: 'sent' })
  }
  await bench.settle()
  expect(bench.sent.map(request => request.id)).toEqual([bench.sent[0]!.id, bench.sent[0]!.id])
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', attempt: 1 })
})

test('a device that reconnects before its request is handed over is sent to once', async () => {
  bench.device = away
  const { job, device, numbers } = await jobOnNew()
  await bench.settle()
  bench.device = silent
  bench.sent.length = 0
  bench.capacity = 0
  await engine.presence.connected(numbers, 'c1')
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'QUEUED' })
  await engine.presence.connected(numbers, 'c2')
  bench.capacity = 500
  await bench.settle()
  expect(bench.sent.length).toBe(1)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 1 })
})

test('a device that has acknowledged is not sent to again when it reconnects', async () => {
  bench.device = silent
  const { job, device, numbers } = await jobOnNew()
  await bench.settle()
  await say(bench, job, device)
  await engine.presence.connected(numbers, 'c2')
  await bench.settle()
  expect(bench.sent.length).toBe(1)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'IN_PROGRESS' })
})

const ask = (numbers: { partition: number; entity: bigint }) =>
  engine.pending.take(numbers, 0, new AbortController().signal)

test('a device that leaves MQTT before it acknowledged, and asks, is handed the same operation at once, same attempt', async () => {
  bench.device = silent
  const { job, device, numbers } = await jobOnNew()
  await engine.presence.connected(numbers, 'c1')
  await bench.settle()
  await engine.presence.disconnected(numbers, 'c1')
  expect((await ask(numbers))?.id).toBe(bench.sent[0]!.id)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'IN_PROGRESS', attempt: 1, flow: 'pull' })
  expect(await ask(numbers)).toBeUndefined()
  // Back on MQTT it is not sent to again: it was handed the request.
  await engine.presence.connected(numbers, 'c2')
  await bench.settle()
  expect(bench.sent.length).toBe(1)
  await say(bench, job, device, { resultCode: 'SUCCESSFUL' })
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', attempt: 1 })
})

test('a device that asks while it is connected over MQTT gets what was sent there only after 30 s of silence', async () => {
  bench.device = silent
  const { job, device, numbers } = await jobOnNew()
  await engine.presence.connected(numbers, 'c1')
  await bench.settle()
  expect(await ask(numbers)).toBeUndefined()
  await bench.advance(29 * SECOND)
  expect(await ask(numbers)).toBeUndefined()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK', flow: 'mqtt' })
  await bench.advance(2 * SECOND)
  expect((await ask(numbers))?.id).toBe(bench.sent[0]!.id)
  expect(bench.sent.length).toBe(1)
})

test('a device that was never seen on MQTT, as behind a broker of the operator, is not handed at once what was sent there', async () => {
  bench.device = silent
  const { numbers } = await jobOnNew()
  await bench.settle()
  expect(bench.sent.length).toBe(1)
  expect(await ask(numbers)).toBeUndefined()
  await bench.advance(31 * SECOND)
  expect((await ask(numbers))?.id).toBe(bench.sent[0]!.id)
})

test('a device that was handed its request and then connects over MQTT is not sent to again', async () => {
  bench.device = away
  const { job, device, numbers } = await jobOnNew()
  await bench.settle()
  expect(await ask(numbers)).toBeDefined()
  await engine.presence.connected(numbers, 'c1')
  await bench.settle()
  expect(bench.sent.length).toBe(1)
  await say(bench, job, device, { resultCode: 'SUCCESSFUL' })
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', attempt: 1 })
})

test('a device that comes back over MQTT and asks at the same moment gets its request one way or the other', async () => {
  bench.device = silent
  for (let round = 0; round < 10; round += 1) {
    const { job, device, numbers } = await jobOnNew()
    await engine.presence.connected(numbers, 'c1')
    await bench.settle()
    await engine.presence.disconnected(numbers, 'c1')
    const [asked] = await Promise.all([ask(numbers), engine.presence.connected(numbers, 'c2')])
    await bench.settle()
    expect(bench.sent.length + (asked ? 1 : 0)).toBe(2)
    await say(bench, job, device, { resultCode: 'SUCCESSFUL' })
  }
})

test('a hundred devices that call through a broker of the operator are connected, and nothing is kept of them here', async () => {
  const callers = Array.from({ length: 100 }, (_, k) => `calls-${k}`)
  await bench.provision(callers, { flow: 'mqtt' })
  const before = engine.presence.connectedHere()
  const numbers = await Promise.all(callers.map(device => deviceOf(bench, device)))
  await Promise.all(numbers.map(device => engine.presence.called(device)))
  expect(engine.presence.connectedHere()).toBe(before)
  // No node holds them, so that none takes them along when it goes.
  await bench.outage(60 * SECOND)
  const successor = await createWorkbench(database, { node: 5, clock: bench.clock })
  await successor.settle()
  expect(await Promise.all(numbers.map(device => isConnected(successor, device)))).toEqual(Array(100).fill(true))
  // Until devices connect to a broker of the service.
  await forgetCalls(database)
  expect(await isConnected(successor, numbers[0]!)).toBe(false)
})

test('a device that called through a broker of the operator counts as gone when it has been silent there for a day', async () => {
  const names = ['talks', 'calls-again', 'asks-only', 'silent']
  await bench.provision(names, { flow: 'mqtt' })
  const [talks, again, asks, quiet] = await Promise.all(names.map(name => deviceOf(bench, name)))
  const all = [talks!, again!, asks!, quiet!]
  const { called, heard, seen } = engine.presence
  await Promise.all(all.map(called))
  const connected = () => Promise.all(all.map(device => isConnected(bench, device)))
  const chores = async () => void (await engine.loops.get('housekeeper')!.runOnce(bench.clock.now()))
  await bench.outage(23 * 3_600 * SECOND)
  await chores()
  expect(await connected()).toEqual([true, true, true, true])
  // Over HTTP a device may ask long after it has left its broker.
  await Promise.all([heard(talks!), called(again!), seen(asks!)])
  await bench.outage(3_599 * SECOND)
  await chores()
  expect(await connected()).toEqual([true, true, true, true])
  await bench.outage(SECOND)
  await chores()
  expect(await connected()).toEqual([true, true, false, false])
  await bench.outage(24 * 3_600 * SECOND)
  await chores()
  expect(await connected()).toEqual([false, false, false, false])
  await called(quiet!)
  expect(await connected()).toEqual([false, false, false, true])
})

test('the end of a connection that was replaced changes nothing, in whatever order and batch it comes', async () => {
  const { numbers } = await jobOnNew()
  const { connected, disconnected, seen } = engine.presence
  await Promise.all([connected(numbers, 'c1'), seen(numbers)])
  expect(await isConnected(bench, numbers)).toBe(true)
  await Promise.all([connected(numbers, 'c2'), disconnected(numbers, 'c1')])
  expect(await isConnected(bench, numbers)).toBe(true)
  await disconnected(numbers, 'c1')
  expect(await isConnected(bench, numbers)).toBe(true)
  await Promise.all([disconnected(numbers, 'c2'), seen(numbers)])
  expect(await isConnected(bench, numbers)).toBe(false)
  await Promise.all([connected(numbers, 'c3'), disconnected(numbers, 'c3')])
  expect(await isConnected(bench, numbers)).toBe(false)
})

test('a device that speaks all the time is written down as seen once a minute', async () => {
  await bench.provision(['talkative'])
  const numbers = await deviceOf(bench, 'talkative')
  const seenAt = async () => {
    const rows = await database.query<{ at: Date }>(
      sql`select seen_at as at from presence where partition = ${numbers.partition} and entity = ${numbers.entity}`,
    )
    return rows[0]?.at.getTime()
  }
  await engine.presence.seen(numbers)
  const first = await seenAt()
  for (let second = 0; second < 59; second += 1) {
    await bench.advance(SECOND)
    await engine.presence.seen(numbers)
  }
  expect(await seenAt()).toBe(first)
  await bench.advance(2 * SECOND)
  await engine.presence.seen(numbers)
  expect(await seenAt()).toBe(first! + 61 * SECOND)
})

test('connections of a dead node are forgotten, those of a node that was silent and lives are recorded again', async () => {
  const other = await createWorkbench(database, { node: 2, clock: bench.clock })
  const { numbers } = await jobOnNew()
  await other.engine.presence.connected(numbers, 'held')
  await bench.settle()
  expect(await isConnected(bench, numbers)).toBe(true)
  await bench.advance(6 * SECOND)
  expect(await isConnected(bench, numbers)).toBe(false)
  await other.settle()
  await expect.poll(() => isConnected(bench, numbers), { timeout: 45_000 }).toBe(true)
})

test('a connect that is recorded late does not take a device from the node to which it has gone meanwhile, nor does its end', async () => {
  const { numbers } = await jobOnNew()
  const madeAt = bench.clock.now()
  await bench.advance(10 * SECOND)
  await engine.presence.connected(numbers, 'at-b')
  await engine.presence.connected(numbers, 'at-a', madeAt)
  await engine.presence.disconnected(numbers, 'at-a')
  expect(await isConnected(bench, numbers)).toBe(true)
  await engine.presence.disconnected(numbers, 'at-b')
  expect(await isConnected(bench, numbers)).toBe(false)
})

test('a connection that lasts is taken up again as the one it was: a device that has gone meanwhile stays where it is', async () => {
  const other = await createWorkbench(database, { node: 2, clock: bench.clock })
  const { numbers } = await jobOnNew()
  await engine.presence.connected(numbers, 'at-a')
  await bench.advance(10 * SECOND)
  await other.engine.presence.connected(numbers, 'at-b')
  await engine.presence.recordAgain()
  await engine.presence.disconnected(numbers, 'at-a')
  expect(await isConnected(bench, numbers)).toBe(true)
})

test('what is recorded again after a silence was connected all the time: nothing is sent twice, and what waited is sent', async () => {
  bench.device = silent
  const { job, device, numbers } = await jobOnNew()
  await engine.presence.connected(numbers, 'held')
  await bench.settle()
  const sent = bench.sent.length
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK' })
  await engine.presence.recordAgain()
  await bench.settle()
  expect(bench.sent.length).toBe(sent)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK' })

  await bench.provision(['waits'], { flow: 'mqtt' })
  const waitingNumbers = await deviceOf(bench, 'waits')
  await engine.presence.connected(waitingNumbers, 'c1')
  await bench.advance(5 * SECOND)
  bench.device = away
  const { job: waiting } = await jobs.create(caller, jobRequest({ target: { append: { entities: ['waits'] } } }))
  await bench.settle()
  expect(await operationOf(bench, waiting, 'waits')).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
  bench.device = obedient()
  await engine.presence.recordAgain()
  await bench.settle()
  expect(await operationOf(bench, waiting, 'waits')).toMatchObject({ status: 'FINISHED', attempt: 1 })
})

test('another request that finds the device away meanwhile does not have what was sent to it sent again', async () => {
  bench.device = silent
  const { job, device, numbers } = await jobOnNew()
  await engine.presence.connected(numbers, 'held')
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK' })
  await bench.advance(5 * SECOND)
  // As another node says that does not hold the connection, while the one that does records it again.
  bench.device = async (_, report) => {
    bench.device = obedient()
    await engine.presence.recordAgain()
    report({ seen: 'away' })
  }
  bench.sent.length = 0
  await database.executeSql(
    `insert into operation_type (organization, name, applicable_to, created_at)
     select organization, 'REFRESH_INFO', '{entity.device}', $1 from organization`,
    [EPOCH],
  )
  const target = { append: { entities: [device] } }
  const { job: other } = await jobs.create(caller, jobRequest({ name: 'REFRESH_INFO', target }))
  // The device speaks on its own time: under load the bench may look between two of its words.
  const outcome = async () => {
    await bench.settle()
    return await operationOf(bench, other, device)
  }
  await expect.poll(outcome, { timeout: 45_000 }).toMatchObject({ status: 'FINISHED', attempt: 1 })
  expect(bench.sent.map(request => request.name)).toEqual(['REFRESH_INFO', 'REFRESH_INFO'])
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 1 })
})

test('a service that starts alone forgets the connections of its predecessor', async () => {
  const predecessor = await createWorkbench(database, { node: 3, clock: bench.clock })
  const { numbers } = await jobOnNew()
  await predecessor.engine.presence.connected(numbers, 'lost')
  await predecessor.abandon()
  await bench.outage(60 * SECOND)
  const successor = await createWorkbench(database, { node: 4, clock: bench.clock })
  await successor.settle()
  expect(await isConnected(successor, numbers)).toBe(false)
})

test('a job of devices that never come waits for ever, and says so', async () => {
  bench.device = away
  const { job } = await jobOnNew(0)
  await bench.advance(3_600 * SECOND)
  expect(await summaryOfJob(bench, job)).toMatchObject({
    status: 'IN_PROGRESS',
    inProgress: { waitingForConnection: 1 },
    warnings: [{ code: 'waits-forever' }],
  })
})
