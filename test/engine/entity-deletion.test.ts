import { expect, test } from 'vitest'
import { closeEntities, drainEntities } from '../../src/engine/closing.ts'
import { createHousekeeping } from '../../src/engine/housekeeper.ts'
import { searchRoutes } from '../../src/north/search.ts'
import { readCounters } from '../../src/store/jobs.ts'
import { readOperationPage } from '../../src/store/operation-reading.ts'
import { sql } from '../../src/store/statement.ts'
import { silentLog, testDatabase } from '../database.ts'
import { addEntity, testEntities } from '../entity-rows.ts'
import { openDoor } from '../north/door.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const keptForEver = { deliveryRetentionMs: 90 * 86_400_000, callMs: 86_400_000 }
const bench = await createWorkbench(database)
const owner = { organization: bench.caller.organization, organizationName: bench.caller.organizationName }
const clock = { now: () => EPOCH, sleepUntil: async () => {} }
const entities = testEntities(database, { closeEntities, drainEntities, clock })
const device = (identifier: string) =>
  addEntity(database, entities, owner, {
    'provision.device.identifier': identifier,
    'provision.device.operation.flow': 'http',
    'provision.device.operation.url': 'http://device.example/operations',
  })

const operations = async (job: bigint) =>
  (await readOperationPage(database, job, { skip: 0 }, 10))
    .map(({ identifier, resourceType, status, result }) => [identifier, resourceType, status, result])
    .sort()

test('what runs on a device that is deleted ends with it, and still says on what it ran', async () => {
  await Promise.all(['d1', 'd2'].map(device))
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target: { append: { entities: ['d1', 'd2'] } } }))
  await bench.settle()
  await entities.write(owner, 'DELETE', [{ said: new Map(), identifier: 'd1' }])
  expect(await operations(job)).toEqual([
    ['d1', 'entity.device', 'CANCELLED', 'CANCELLED_INTERNAL'],
    ['d2', 'entity.device', 'WAITING_FOR_ACK', null],
  ])
  expect((await readCounters(database, [job])).get(job)).toMatchObject({ by_engine: 1, pending_execution: 1 })
})

test('what is launched on a device while it is being deleted ends, too', async () => {
  await device('late')
  let job = 0n
  const deleting = testEntities(database, {
    clock,
    drainEntities,
    async closeEntities(tx, gone, now) {
      await closeEntities(tx, gone, now)
      const target = { append: { entities: ['late'] } }
      job = (await bench.jobs.create(bench.caller, jobRequest({ target }))).job
      await bench.settle()
      expect(await operations(job)).toEqual([['late', 'entity.device', 'WAITING_FOR_ACK', null]])
    },
  })
  await deleting.write(owner, 'DELETE', [{ said: new Map(), identifier: 'late' }])
  expect(await operations(job)).toEqual([['late', 'entity.device', 'CANCELLED', 'CANCELLED_INTERNAL']])
})

test('the history of a device is found by its id after it was deleted, and beside that of one provisioned anew', async () => {
  const door = openDoor(bench.caller, app => searchRoutes(app, { database }))
  const history = async () => {
    const { body } = await door.ask('POST', '/search/entities/operations/history', {
      filter: { eq: { entityId: 'd1' } },
    })
    return (body.operations as { entityId: string }[]).map(({ entityId }) => entityId)
  }
  expect(await history()).toEqual(['d1'])
  await device('d1')
  expect(await history()).toEqual(['d1'])
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target: { append: { entities: ['d1'] } } }))
  await bench.jobs.cancel(bench.caller, job)
  await bench.settle()
  expect(await history()).toEqual(['d1', 'd1'])
})

test('what was deleted is forgotten with the months in which it ran', async () => {
  await entities.write(owner, 'DELETE', [{ said: new Map(), identifier: 'd1' }])
  const later = new Date(Date.UTC(EPOCH.getUTCFullYear(), EPOCH.getUTCMonth() + 3))
  const keep = (retentionMonths: number) =>
    createHousekeeping(database, { ...keptForEver, retentionMonths }, silentLog)(later, new AbortController().signal)
  await keep(12)
  expect(await database.query(sql`select from former_entity`)).not.toEqual([])
  await keep(1)
  expect(await database.query(sql`select from former_entity`)).toEqual([])
})
