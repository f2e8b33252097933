import { beforeEach, describe, expect, test } from 'vitest'
import { GATES } from '../../src/domain/gates.ts'
import type { JobRequest } from '../../src/domain/job.ts'
import { createWhy } from '../../src/engine/why.ts'
import { readOperationPage } from '../../src/store/operation-reading.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { deviceOf } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller, clock } = bench
const { explain } = createWhy({ database, now: () => clock.now(), redeliveryMs: 30_000 })
let device = ''
let count = 0

beforeEach(async () => {
  device = `d${count++}`
  await bench.provision([device])
  bench.device = (_, report) => report({ seen: 'sent' })
})

const create = (request: Partial<JobRequest> = {}) =>
  jobs.create(caller, jobRequest({ target: { append: { entities: [device] } }, ...request }))

const told = new Set<string>()

/** The explanation of a job's only operation, with gates and events by name. */
async function why(job: bigint) {
  const [operation] = await readOperationPage(database, job, { skip: 0 }, 1)
  const explained = (await explain(caller.organization, operation!))!
  for (const { gate } of explained.held) told.add(gate)
  return {
    ...explained,
    gates: explained.held.map(({ gate }) => gate),
    events: explained.next.map(({ event }) => event),
  }
}
const fromNow = (ms: number) => clock.now().getTime() + ms

describe('an operation is explained', () => {
  test('of a job that is not active: activating it opens it', async () => {
    const { job } = await create({ active: false })
    expect(await why(job)).toMatchObject({
      status: 'PENDING',
      attempt: 0,
      gates: ['notActive'],
      events: ['activateNow'],
    })
  })

  test('of a job before its start: it lifts at the start', async () => {
    const { job } = await create({ schedule: { start: { delayed: 60_000 } } })
    const { gates, held, next } = await why(job)
    expect(gates).toEqual(['beforeStart'])
    expect(held[0]!.liftsAt).toBe(fromNow(60_000))
    expect(next[0]).toMatchObject({ event: 'startReached', at: fromNow(60_000) })
    await jobs.cancel(caller, job)
  })

  test('in a closed window: it is launched when the window opens', async () => {
    const window = { weekly: [{ daily: { start: '22:00:00Z', stop: '06:00:00Z' } }] }
    const { job } = await create({ schedule: { window } })
    await bench.settle()
    const { gates, next } = await why(job)
    expect(gates).toEqual(['windowClosed'])
    expect(next).toEqual([{ event: 'launch', words: expect.any(String), at: clock.now().setUTCHours(22, 0, 0, 0) }])
    await jobs.cancel(caller, job)
  })

  test('waiting for its turn, paused, and being acknowledged, with the deadline and the stop', async () => {
    const { job } = await create({ schedule: { stop: { delayed: 3_600_000 } } })
    expect((await why(job)).gates).toEqual(['limit'])
    await jobs.change(caller, job, { active: false })
    expect(await why(job)).toMatchObject({ gates: ['paused'], events: ['activateNow', 'stopReached'] })
    await jobs.change(caller, job, { active: true })
    await bench.settle()
    const { status, gates, held, next } = await why(job)
    expect({ status, gates }).toEqual({ status: 'WAITING_FOR_ACK', gates: ['awaitingAcknowledgement'] })
    expect(held[0]!.liftsAt).toBe(fromNow(10_000))
    expect(next).toContainEqual({ event: 'ackTimeoutOver', words: expect.any(String), at: fromNow(10_000) })
    expect(next).toContainEqual({ event: 'stopReached', words: expect.any(String), at: fromNow(3_600_000) })
    await jobs.change(caller, job, { active: false })
    expect((await why(job)).gates).toEqual(['awaitingAcknowledgement'])
    await jobs.cancel(caller, job)
    await bench.settle()
  })

  test('with its place still ahead in the spread', async () => {
    const [one, two] = [`${device}-a`, `${device}-b`]
    await bench.provision([one, two])
    const { job } = await jobs.create(
      caller,
      jobRequest({
        target: { append: { entities: [one, two] } },
        schedule: { stop: { delayed: 7_200_000 }, scattering: { maxSpread: 100 } },
      }),
    )
    await bench.settle()
    const operations = await readOperationPage(database, job, { skip: 0 }, 2)
    const waiting = operations.find(({ status }) => status === 'PENDING')!
    const { held } = (await explain(caller.organization, waiting))!
    told.add(held[0]!.gate)
    // Half of the two hours less the drain reserve of 70 s.
    expect(held).toEqual([
      expect.objectContaining({ gate: 'placeInSpread', liftsAt: fromNow((7_200_000 - 70_000) / 2) }),
    ])
    await jobs.cancel(caller, job)
    await bench.settle()
  })

  test('between two attempts: the pause, then the next attempt', async () => {
    const parameters = { ackTimeout: 10_000, timeout: 60_000, retries: 1, retriesDelay: 20_000, retryResultList: [] }
    const { job } = await create({ operationParameters: parameters })
    await bench.settle()
    expect((await why(job)).events).toContain('retry')
    await bench.advance(10_000)
    const { status, attempt, attemptsMax, gates, next } = await why(job)
    expect({ status, attempt, attemptsMax, gates }).toEqual({
      status: 'PENDING',
      attempt: 1,
      attemptsMax: 2,
      gates: ['retryPause'],
    })
    expect(next[0]).toMatchObject({ event: 'launch', at: fromNow(20_000) })
    await jobs.cancel(caller, job)
    await bench.settle()
  })

  test('while the same operation is live on its entity, by the id of that one', async () => {
    const first = await create()
    await bench.settle()
    const second = await create()
    const [live] = await readOperationPage(database, first.job, { skip: 0 }, 1)
    const { gates, held, events } = await why(second.job)
    expect(gates).toEqual(['sameOperationLive'])
    expect(held[0]!.fields.operationId).toMatch(new RegExp(`${live!.entity.toString(16)}$`))
    expect(events).toEqual(['slotTaken'])
    await jobs.cancel(caller, first.job)
    await jobs.cancel(caller, second.job)
    await bench.settle()
  })

  test('while its device is away, and while the device works on it', async () => {
    const puller = `${device}-p`
    await bench.provision([puller], { flow: 'pull' })
    const { job } = await create({ target: { append: { entities: [puller] } } })
    await bench.settle()
    expect(await why(job)).toMatchObject({
      status: 'WAITING_FOR_CONNECTION',
      gates: ['deviceAway'],
      events: ['handedOut', 'ackTimeoutOver'],
    })
    const [operation] = await readOperationPage(database, job, { skip: 0 }, 1)
    await bench.engine.pending.take(operation!, 0, new AbortController().signal)
    expect(await why(job)).toMatchObject({
      status: 'IN_PROGRESS',
      gates: ['redeliveryPause', 'awaitingAnswer'],
      events: ['final', 'timeoutOver'],
    })
    await jobs.cancel(caller, job)
    await bench.settle()
    expect(await why(job)).toMatchObject({ status: 'CANCELLED', gates: [], events: ['lateFinal'] })
  })
})

test('an operation of another organization, or of no job, is not explained', async () => {
  const { job } = await create({ active: false })
  const [operation] = await readOperationPage(database, job, { skip: 0 }, 1)
  expect(await explain(caller.organization + 1, operation!)).toBeUndefined()
  expect(await explain(caller.organization, { ...operation!, entity: 1n })).toBeUndefined()
})

test('an operation is explained while its target is resolved, while it is cancelled, and while its sender has it', async () => {
  const tagged = jobRequest({ active: false, target: { append: { tags: ['of-why'] } } })
  await bench.provision([`${device}-tagged`], { tags: ['of-why'] })
  const { job } = await jobs.create(caller, tagged)
  await bench.settle()
  await jobs.change(caller, job, { target: { append: { tags: ['of-others'] } } })
  expect((await why(job)).gates).toEqual(['notActive', 'targetUnresolved'])
  await bench.settle()

  bench.device = () => {}
  await jobs.change(caller, job, { active: true })
  await bench.engine.loops.get('operation-dispatcher')!.runOnce(clock.now())
  expect(await why(job)).toMatchObject({ status: 'QUEUED', gates: ['withSender'] })
  bench.device = (_, report) => report({ seen: 'away' })

  const { job: cancelled } = await create()
  await jobs.cancel(caller, job)
  await jobs.change(caller, cancelled, { active: false })
  await database.query(sql`update job set status = 'CANCELLING_BY_USER' where job = ${cancelled}`)
  expect(await why(cancelled)).toMatchObject({ gates: ['jobCancelling'], events: ['userCancel'] })
  await bench.settle()
})

test('an operation that was handed out is explained: when it is offered again, and that its answer is awaited', async () => {
  await bench.provision([`${device}-asking`], { flow: 'pull' })
  const { job } = await create({ target: { append: { entities: [`${device}-asking`] } } })
  await bench.settle()
  const numbers = await deviceOf(bench, `${device}-asking`)
  await bench.engine.pending.take(numbers, 0, new AbortController().signal)
  const { gates, held } = await why(job)
  expect(gates).toEqual(['redeliveryPause', 'awaitingAnswer'])
  expect(held[0]!.liftsAt).toBe(fromNow(30_000))
  await jobs.cancel(caller, job)
  await bench.settle()
})

test('an operation of a job whose stop has come is explained before the cancelling begins', async () => {
  await bench.provision([`${device}-stopped`], { flow: 'pull' })
  const target = { append: { entities: [`${device}-stopped`] } }
  const { job } = await create({ target, schedule: { stop: { delayed: 60_000 } } })
  await bench.settle()
  await database.query(sql`update job set stop_at = ${clock.now()} where job = ${job}`)
  expect((await why(job)).gates).toContain('stopReached')
  await bench.settle()
  expect(await why(job)).toMatchObject({ status: 'TIMEOUT_CANCELLED' })
})

test('every gate has held an operation here, but the one of a job that has ended, which has none', () => {
  expect(GATES.filter(gate => !told.has(gate))).toEqual(['jobEnded'])
})
