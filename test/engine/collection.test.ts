import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createClock } from '../../src/engine/clock.ts'
import { createCollection } from '../../src/engine/collection.ts'
import { createDatastreams } from '../../src/engine/datastreams.ts'
import { knownDatastreams } from '../../src/store/datastreams.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { addEntity, addOrganization, testEntities } from '../entity-rows.ts'

const { database } = await testDatabase()
const now = Date.UTC(2031, 0, 1)
const entities = testEntities(database)
const acme = await addOrganization(database, 'acme')
const collection = createCollection({
  database,
  clock: createClock(() => now),
  datastreams: createDatastreams(database),
})

async function device(identifier: string, more: Record<string, unknown> = {}) {
  const { partition, entity } = await addEntity(database, entities, acme, {
    'provision.device.identifier': identifier,
    ...more,
  })
  return { organization: acme.organization, partition, entity }
}

async function kept(identifier: string): Promise<{ collected: Record<string, unknown>; cell: string | null }> {
  const [row] = await database.query<{ collected: Record<string, unknown>; cell: string | null }>(
    sql`select collected, cell_info as cell from entity where organization = ${acme.organization} and identifier = ${identifier}`,
  )
  return row!
}

const iot = (id: string, ...points: [value: unknown, at?: number][]) => ({
  datastreams: [{ id, datapoints: points.map(([value, at]) => (at === undefined ? { value } : { value, at })) }],
})

it('keeps the latest value of each datastream, whatever came first', async () => {
  const d1 = await device('d1')
  await collection.iot(d1, iot('temp', [20, 1_000], [22, 3_000], [21, 2_000]))
  expect((await kept('d1')).collected).toEqual({ temp: { value: 22, at: 3_000 } })
  await collection.iot(d1, iot('temp', [19, 2_999]))
  await collection.iot(d1, iot('door', ['open']))
  expect((await kept('d1')).collected).toEqual({ temp: { value: 22, at: 3_000 }, door: { value: 'open', at: now } })
})

it('does not let a clock that is ahead keep later values out', async () => {
  const d2 = await device('d2')
  await collection.iot(d2, iot('temp', [20, now + 1e9]))
  await collection.iot(d2, iot('temp', [21, now]))
  expect((await kept('d2')).collected).toEqual({ temp: { value: 21, at: now } })
})

it('loses nothing of many messages of many devices at once', async () => {
  const devices = await Promise.all(Array.from({ length: 50 }, (_, at) => device(`m${at}`)))
  await Promise.all(
    devices.flatMap(each =>
      Array.from({ length: 10 }, (_, at) => collection.iot(each, iot(`s${at}`, [at, at * 1_000]))),
    ),
  )
  const [row] = await database.query<{ count: number }>(
    sql`select count(*)::int as count from entity e, jsonb_object_keys(e.collected) where e.identifier ~ '^m\\d+$'`,
  )
  expect(row?.count).toBe(500)
})

it('refuses a poisoned message by name, and keeps those that came with it', async () => {
  const d3 = await device('d3')
  const d4 = await device('d4')
  const results = await Promise.allSettled([
    collection.iot(d3, iot('temp', ['x\u0000'])),
    collection.iot(d3, iot('half', ['\ud800'])),
    collection.iot(d3, iot('huge', [Number.POSITIVE_INFINITY])),
    collection.iot(d3, iot('a..b', [1])),
    collection.iot(d3, iot('provision.device.name', ['mine'])),
    collection.iot(d4, iot('temp', [4])),
  ])
  expect(results.map(({ status }) => status)).toEqual([...Array(5).fill('rejected'), 'fulfilled'])
  const [refusal] = results
  expect(refusal).toMatchObject({ reason: { entry: { code: '0x010001' }, context: [{ name: 'temp' }] } })
  expect((await kept('d3')).collected).toEqual({})
  expect((await kept('d4')).collected).toMatchObject({ temp: { value: 4 } })
})

const values = (from: number, to: number) => ({
  datastreams: Array.from({ length: to - from }, (_, at) => ({
    id: `v${from + at}`,
    datapoints: [{ value: 1, at: 1 }],
  })),
})

it('keeps a thousand ids of a device and refuses whatever goes beyond, whole and by name', async () => {
  const full = await device('full')
  await collection.iot(full, values(0, 990))
  await expect(collection.iot(full, values(980, 1_003))).rejects.toMatchObject({
    entry: { code: '0x010001' },
    context: [{ name: 'v1000' }, { name: 'v1001' }, { name: 'v1002' }],
  })
  expect(Object.keys((await kept('full')).collected).length).toBe(990)
  await collection.iot(full, values(990, 1_000))
  await collection.iot(full, { datastreams: [{ id: 'v7', datapoints: [{ value: 'newer', at: 2 }] }] })
  expect((await kept('full')).collected).toMatchObject({ v7: { value: 'newer' }, v999: { value: 1 } })
})

it('judges messages of a device that come together one after the other', async () => {
  const together = await device('together')
  const results = await Promise.allSettled([
    collection.iot(together, values(0, 900)),
    collection.iot(together, values(900, 1_800)),
    collection.iot(together, values(850, 1_000)),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(Object.keys((await kept('together')).collected).length).toBe(1_000)
})

it('leaves the device where it was by a message that does not fit', async () => {
  const moving = await device('moving')
  await collection.iot(moving, values(0, 1_000))
  await expect(collection.iot(moving, iot('subscription.collected.cellInfo', ['cell-9']))).rejects.toThrow('no room')
  expect((await kept('moving')).cell).toBeNull()
})

it('keeps what a device describes of itself, list by list', async () => {
  const d5 = await device('d5')
  await collection.dmm(d5, {
    device: { model: 'M', power: { level: 80 }, communicationModules: [{ imei: '1' }, { imei: '2' }], empty: {} },
  })
  expect((await kept('d5')).collected).toEqual({
    'device.model': { value: 'M', at: now },
    'device.power.level': { value: 80, at: now },
    'device.communicationModules[].imei': { value: ['1', '2'], at: now },
  })
})

it('reads the cell of the subscription from either message, and the newer stays', async () => {
  const d6 = await device('d6', { 'provision.device.communicationModules[].subscription.identifier': ['sub6'] })
  await addEntity(database, entities, acme, {
    'provision.device.communicationModules[].subscription.identifier': 'sub6',
  })
  await collection.iot(d6, iot('subscription.collected.cellInfo', ['cell-1', 2_000]))
  expect([(await kept('d6')).cell, (await kept('sub6')).cell]).toEqual(['cell-1', 'cell-1'])
  await collection.iot(d6, iot('subscription.collected.cellInfo', ['cell-0', 1_000]))
  expect((await kept('d6')).cell).toBe('cell-1')
  await collection.dmm(d6, { device: { communicationModules: [{ subscription: { cellInfo: { lac: 1, ci: 2 } } }] } })
  await collection.iot(d6, iot('subscription.collected.cellInfo', ['cell-3', 3_000]))
  expect((await kept('sub6')).cell).toBe('{"lac":1,"ci":2}')
})

it('bounds the ids of a message', async () => {
  await expect(collection.iot(await device('d7'), values(0, 1_001))).rejects.toThrow('more than 1000 ids')
})

it('lets filters know what was collected', async () => {
  await collection.iot(await device('d8'), iot('fuel', [3]))
  expect(await knownDatastreams(database, acme.organization, ['fuel', 'fool'])).toEqual(['fuel'])
})

it('has nothing to keep of a device that is gone', async () => {
  const d9 = await device('d9')
  await entities.write(acme, 'DELETE', [{ said: new Map(), identifier: 'd9' }])
  await expect(collection.iot(d9, iot('temp', [1]))).resolves.toBeUndefined()
})

it('keeps or refuses whatever a device says, and never fails with the database', async () => {
  const devices = await Promise.all(['any1', 'any2', 'any3'].map(each => device(each)))
  const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })
  const id = fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.constant('subscription.collected.cellInfo'))
  const at = fc.option(fc.integer({ min: 0, max: 8e15 }), { nil: undefined })
  const stream = fc.record({ id, datapoints: fc.array(fc.record({ value: json, at }), { maxLength: 3 }) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(stream, { maxLength: 4 }), { maxLength: 6 }),
      fc.dictionary(id, json),
      async (messages, tree) => {
        const kept = await Promise.allSettled([
          ...messages.map((datastreams, place) => {
            const streams = datastreams.map(each => ({
              id: each.id,
              datapoints: each.datapoints.map(point =>
                point.at === undefined ? { value: point.value } : { ...point, at: point.at },
              ),
            }))
            return collection.iot(devices[place % 3]!, { datastreams: streams })
          }),
          collection.dmm(devices[0]!, { device: tree }),
        ])
        const failures = kept.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
        for (const failure of failures) expect(failure).toMatchObject({ entry: { kind: 'invalid' } })
      },
    ),
    { numRuns: 60 },
  )
})
