import { expect, onTestFinished, test, vi } from 'vitest'
import { parseOperationId } from '../../src/domain/identity.ts'
import { holdLaunchGate } from '../../src/store/launch-gate.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { deviceOf, MINUTE, operationOf, SECOND, say, summaryOfJob } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller, engine } = bench
let made = 0

async function newDevice() {
  made += 1
  await bench.provision([`pull-${made}`], { flow: 'pull' })
  return `pull-${made}`
}

async function jobOn(device: string, name = 'REBOOT_EQUIPMENT', ackTimeout = 3_600_000) {
  await database.executeSql(
    `insert into operation_type (organization, name, applicable_to, created_at)
     select organization, $2, '{entity.device}', $1 from organization on conflict do nothing`,
    [EPOCH, name],
  )
  const { job } = await jobs.create(
    caller,
    jobRequest({
      name,
      target: { append: { entities: [device] } },
      operationParameters: { ackTimeout, timeout: 600_000, retries: 1, retriesDelay: 0, retryResultList: [] },
    }),
  )
  await bench.settle()
  return job
}

async function ask(device: string, waitMs = 0, stand = bench) {
  const signal = new AbortController().signal
  return await stand.engine.pending.take(await deviceOf(stand, device), waitMs, signal)
}
const jobAsked = async (device: string) => parseOperationId((await ask(device))?.id ?? '')?.job

test('an operation of a device that asks waits for it, and is in progress once it was handed out', async () => {
  const device = await newDevice()
  const job = await jobOn(device)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_CONNECTION', flow: 'pull' })
  expect((await summaryOfJob(bench, job)).inProgress).toMatchObject({ waitingForConnection: 1 })
  expect(await ask(device)).toMatchObject({ device: { deviceId: device }, name: 'REBOOT_EQUIPMENT' })
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'IN_PROGRESS' })
  expect(await say(bench, job, device, { resultCode: 'SUCCESSFUL' })).toBe('taken')
  expect(await ask(device)).toBeUndefined()
})

test('a hand-out that waits behind a pause is judged when that is over: a job whose stop has come meanwhile hands out nothing', async () => {
  const device = await newDevice()
  const job = await jobOn(device, 'STOPPING')
  const stopAt = new Date(bench.clock.now().getTime() + MINUTE)
  await database.query(sql`update job set stop_at = ${stopAt} where job = ${job}`)
  const waiting = sql`select from pg_locks where locktype = 'advisory' and not granted
                         and database = (select oid from pg_database where datname = current_database())`
  const asked = await database.transaction(async tx => {
    await holdLaunchGate(tx)
    // However slow the machine is, the pause holds until the other stands behind it.
    await tx.query(sql`set local idle_in_transaction_session_timeout = 0`)
    const asking = ask(device)
    await vi.waitFor(async () => expect(await tx.query(waiting)).toHaveLength(1), { timeout: 45_000, interval: 10 })
    await bench.clock.advanceTo(stopAt)
    return { asking }
  })
  expect(await asked.asking).toBeUndefined()
})

test('work never handed out comes first, oldest first; what was handed out comes again only after 30 s of silence', async () => {
  const device = await newDevice()
  const oldest = await jobOn(device, 'FIRST')
  await bench.advance(SECOND)
  const middle = await jobOn(device, 'SECOND')
  expect(await jobAsked(device)).toBe(oldest)
  expect(await jobAsked(device)).toBe(middle)
  expect(await jobAsked(device)).toBeUndefined()
  await bench.advance(29 * SECOND)
  const youngest = await jobOn(device, 'THIRD')
  await say(bench, middle, device, { steps: [{ name: 'ALIVE', result: 'SUCCESSFUL' }] })
  await bench.advance(2 * SECOND)
  expect(await jobAsked(device)).toBe(youngest)
  expect(await jobAsked(device)).toBe(oldest)
  expect(await jobAsked(device)).toBeUndefined()
  expect(await operationOf(bench, oldest, device)).toMatchObject({ attempt: 1, status: 'IN_PROGRESS' })
})

test('the timeout counts from the first hand-out, and a later one does not restart it', async () => {
  const device = await newDevice()
  const job = await jobOn(device)
  await ask(device)
  const { deadlineAt } = (await operationOf(bench, job, device)) as { deadlineAt: Date }
  await bench.advance(MINUTE)
  expect(await jobAsked(device)).toBe(job)
  expect(await operationOf(bench, job, device)).toMatchObject({ deadlineAt })
})

test('a call that is held open is woken by work that comes', async () => {
  const device = await newDevice()
  const held = ask(device, MINUTE)
  await bench.settle()
  const job = await jobOn(device)
  expect(parseOperationId((await held)!.id)?.job).toBe(job)
})

test('a call that is held open ends without work when its time is over, or when its caller leaves', async () => {
  const device = await newDevice()
  const held = ask(device, 30 * SECOND)
  await bench.advance(31 * SECOND)
  expect(await held).toBeUndefined()
  const leaving = new AbortController()
  const left = engine.pending.take(await deviceOf(bench, device), MINUTE, leaving.signal)
  await bench.settle()
  leaving.abort()
  expect(await left).toBeUndefined()
})

test('what is handed to a call that hangs up at that moment is there for the next one at once, and only then', async () => {
  const device = await newDevice()
  const job = await jobOn(device)
  const leaving = new AbortController()
  const numbers = await deviceOf(bench, device)
  const { transaction } = database
  const handingOut = vi.spyOn(database, 'transaction').mockImplementationOnce(async work => {
    const done = await transaction(work)
    leaving.abort()
    return done
  })
  expect(await engine.pending.take(numbers, 0, leaving.signal)).toBeUndefined()
  handingOut.mockRestore()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'IN_PROGRESS' })
  expect(await jobAsked(device)).toBe(job)
  expect(await jobAsked(device)).toBeUndefined()
  expect(await operationOf(bench, job, device)).toMatchObject({ attempt: 1 })
})

test('a call that is held open while the job is paused gets the work when it is resumed', async () => {
  const device = await newDevice()
  const job = await jobOn(device)
  await jobs.change(caller, job, { active: false })
  const held = ask(device, MINUTE)
  await bench.advance(20 * SECOND)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
  const resumedAt = bench.clock.now()
  await jobs.change(caller, job, { active: true })
  await bench.settle()
  expect(parseOperationId((await held)!.id)?.job).toBe(job)
  expect(bench.clock.now()).toEqual(resumedAt)
})

test('a call that is held open at another node gets the work when the job is resumed', async () => {
  const other = await createWorkbench(database, { node: 2, clock: bench.clock })
  await other.engine.start(false)
  onTestFinished(() => other.engine.stop())
  const device = await newDevice()
  const job = await jobOn(device)
  await jobs.change(caller, job, { active: false })
  const held = ask(device, MINUTE, other)
  await bench.settle()
  await jobs.change(caller, job, { active: true })
  await bench.settle()
  expect(parseOperationId((await held)!.id)?.job).toBe(job)
})

test('two calls of one device at two nodes get a request once', async () => {
  const other = await createWorkbench(database, { node: 2, clock: bench.clock })
  for (let round = 0; round < 10; round += 1) {
    const device = await newDevice()
    await jobOn(device)
    const got = await Promise.all([ask(device), ask(device, 0, other), ask(device), ask(device, 0, other)])
    expect(got.filter(request => request !== undefined).length).toBe(1)
  }
})

test('a device that only asks is not sent round in a circle while it is connected over MQTT', async () => {
  const device = await newDevice()
  await engine.presence.connected(await deviceOf(bench, device), 'c1')
  const job = await jobOn(device)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
  expect(await jobAsked(device)).toBe(job)
})

test('what nobody asks for within ackTimeout is tried again, then cancelled by timeout', async () => {
  const device = await newDevice()
  const job = await jobOn(device, 'REBOOT_EQUIPMENT', 50_000)
  await bench.advance(51 * SECOND)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_CONNECTION', attempt: 2 })
  await bench.advance(51 * SECOND)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'TIMEOUT_CANCELLED', result: 'ERROR_TIMEOUT' })
})
