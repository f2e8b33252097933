/** What waits for a device that asks or connects, and is given a way over HTTP, is sent: whatever dies, and whoever carries what. */
import { expect, test } from 'vitest'
import { readEntityForm } from '../../src/domain/entity-form.ts'
import { wakeReached } from '../../src/engine/device-reaching.ts'
import type { EntityAction } from '../../src/engine/entities.ts'
import { openAgainWhatWaits } from '../../src/store/jobs-due.ts'
import { recordPresence } from '../../src/store/presence.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { testEntities } from '../entity-rows.ts'
import { deviceOf, ids, obedient, operationOf, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller, clock } = bench
bench.device = obedient()
const IDENTIFIER = 'provision.device.identifier'
const URL = { 'provision.device.operation.url': 'http://device.example/' }
const SUBSCRIPTION = 'provision.device.communicationModules[].subscription.identifier'
const ADDRESS = 'provision.device.communicationModules[].subscription.address'

function entitiesOf({ database: own, engine, nextNumber }: typeof bench) {
  const entities = testEntities(own, { clock, nextNumber, wakeReached, onWoken: engine.wake })
  return async (action: EntityAction, body: Record<string, unknown>) => {
    const said = readEntityForm(body, true)
    if (!said.ok) throw new Error(JSON.stringify(said.problems))
    const [outcome] = await entities.write(caller, action, [{ said: said.value }])
    if (!outcome?.ok) throw outcome?.error
  }
}
const write = entitiesOf(bench)

/** A job on a device that asks for its work, and has not asked. */
async function waitingFor(device: string, more: Record<string, unknown> = {}): Promise<bigint> {
  await write('CREATE', { [IDENTIFIER]: device, ...more })
  const { job } = await jobs.create(caller, jobRequest({ target: { append: { entities: [device] } } }))
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_CONNECTION', flow: 'pull' })
  return job
}

test('a device that is given a URL is sent what waits for it, same attempt', async () => {
  const job = await waitingFor('given')
  await write('PATCH', { [IDENTIFIER]: 'given', 'provision.device.name': 'no other way' })
  await bench.settle()
  expect(await operationOf(bench, job, 'given')).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
  await write('PATCH', { [IDENTIFIER]: 'given', ...URL })
  await bench.settle(false)
  expect(await operationOf(bench, job, 'given')).toMatchObject({ status: 'FINISHED', attempt: 1 })
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED' })
})

test('a device that gets its address with the subscription that it carries is sent what waits for it', async () => {
  const carrying = { [SUBSCRIPTION]: ['s1'] }
  const made = await waitingFor('carrier', carrying)
  await write('CREATE', { [SUBSCRIPTION]: 's1', [ADDRESS]: '10.4.0.1' })
  await bench.settle(false)
  expect(await operationOf(bench, made, 'carrier')).toMatchObject({ status: 'FINISHED' })
  await write('PATCH', { [SUBSCRIPTION]: 's1', [ADDRESS]: null })
  const { job } = await jobs.create(caller, jobRequest({ target: { append: { entities: ['carrier'] } } }))
  await bench.settle()
  expect(await operationOf(bench, job, 'carrier')).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
  await write('PATCH', { [SUBSCRIPTION]: 's1', [ADDRESS]: '10.4.0.2' })
  await bench.settle(false)
  expect(await operationOf(bench, job, 'carrier')).toMatchObject({ status: 'FINISHED' })
})

test('a device that is given a URL while its job is paused is sent to after the resume', async () => {
  const job = await waitingFor('paused')
  await jobs.change(caller, job, { active: false })
  await write('PATCH', { [IDENTIFIER]: 'paused', ...URL })
  await bench.settle()
  // It waits for its job now, and for no connection.
  expect(await operationOf(bench, job, 'paused')).toMatchObject({ status: 'QUEUED' })
  await jobs.change(caller, job, { active: true })
  await bench.settle()
  expect(await operationOf(bench, job, 'paused')).toMatchObject({ status: 'FINISHED', attempt: 1 })
})

test('what waits is sent though the process dies right after the commit that gives the URL', async () => {
  const job = await waitingFor('orphan')
  const dying = await createWorkbench(database, { node: 2, clock })
  dying.database.dieAt({ statement: 'entities_update', when: 'after' })
  await expect(entitiesOf(dying)('PATCH', { [IDENTIFIER]: 'orphan', ...URL })).rejects.toThrow()
  await bench.settle()
  expect(await operationOf(bench, job, 'orphan')).toMatchObject({ status: 'FINISHED', attempt: 1 })
})

test('a device that connected just before its process died is sent what waits for it by the next one that starts', async () => {
  await bench.provision(['connected'], { flow: 'mqtt' })
  bench.device = (_, report) => report({ seen: 'away' })
  const { job } = await jobs.create(caller, jobRequest({ target: { append: { entities: ['connected'] } } }))
  await bench.settle()
  const device = await deviceOf(bench, 'connected')
  const connected = { sign: 'connected', connection: 'broker', node: null, at: clock.now() } as const
  await recordPresence(database, [{ ...device, ...connected }])
  await bench.settle()
  expect(await operationOf(bench, job, 'connected')).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
  const next = await createWorkbench(database, { node: 3, clock })
  await next.engine.start(true)
  await expect.poll(() => operationOf(bench, job, 'connected')).toMatchObject({ status: 'QUEUED' })
  await next.abandon()
  bench.device = obedient()
  await bench.settle()
  expect(await operationOf(bench, job, 'connected')).toMatchObject({ status: 'FINISHED', attempt: 1 })
})

test('an engine that starts looks after no job whose few devices are all away, of which there may be very many', async () => {
  bench.device = (_, report) => report({ seen: 'away' })
  const waiting = async (...entities: string[]) => {
    await bench.provision(entities, { flow: 'mqtt' })
    const { job } = await jobs.create(caller, jobRequest({ target: { append: { entities } } }))
    await bench.settle()
    return job
  }
  const away = await waiting('away')
  const there = await waiting('there', 'not-there')
  const large = await waiting(...ids('away', 21))
  const device = await deviceOf(bench, 'there')
  const connected = { sign: 'connected', connection: 'broker', node: null, at: clock.now() } as const
  await recordPresence(database, [{ ...device, ...connected }])
  expect(await openAgainWhatWaits(database, clock.now())).toBe(2)
  const opened = await database.query<{ job: bigint }>(
    sql`select job from job where job in (${away}, ${there}, ${large}) and wake_at = ${clock.now()} order by job`,
  )
  expect(opened.map(({ job }) => job)).toEqual([there, large])
})
