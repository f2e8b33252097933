/** Devices found by their connection: those that are there, those that went, and those that were never heard of. */
import { expect, test } from 'vitest'
import { connectionFilter } from '../../src/console/views/devices/connection-filter.ts'
import { partitionOf } from '../../src/domain/identity.ts'
import { searchEntityRoutes } from '../../src/north/search-entities.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import { type PresenceSign, recordPresence } from '../../src/store/presence.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database, { compile: compileEntityFilter })
const door = openDoor(bench.caller, app => searchEntityRoutes(app, { database }))
await bench.provision(['asked', 'here', 'never', 'went'])

async function sign(identifier: string, kind: PresenceSign['sign'], afterMs = 0): Promise<void> {
  const partition = partitionOf(bench.caller.organization, identifier)
  const [row] = await database.query<{ entity: bigint }>(
    sql`select entity from entity where partition = ${partition}::smallint and identifier = ${identifier}`,
  )
  const at = new Date(EPOCH.getTime() + afterMs)
  const connection = kind === 'seen' ? null : `c-${identifier}`
  await recordPresence(database, [{ partition, entity: row!.entity, sign: kind, connection, node: 1, at }])
}
await sign('here', 'connected', 60_000)
await sign('went', 'connected')
await sign('went', 'disconnected', 30_000)
await sign('asked', 'seen', 10_000)

const select = [{ name: 'provision.administration.identifier', fields: [{ field: 'value', alias: 'id' }] }]
async function found(filter: object, rest: object = {}): Promise<string[]> {
  const { status, body } = await door.ask('POST', '/search/devices?flattened=true', { filter, select, ...rest })
  expect([200, 204]).toContain(status)
  return status === 204 ? [] : (body.devices as { id: string }[]).map(({ id }) => id)
}
const sorted = async (filter: object) => (await found(filter)).sort()

test('devices are found that are connected, and those that are not', async () => {
  const [yes, no] = [['here'], ['asked', 'never', 'went']]
  expect(await sorted({ eq: { 'connection.connected': true } })).toEqual(yes)
  expect(await sorted({ eq: { 'connection.connected': 'false' } })).toEqual(no)
  expect(await sorted({ neq: { 'connection.connected': true } })).toEqual(no)
  expect(await sorted({ not: { eq: { 'connection.connected': false } } })).toEqual(yes)
  expect(await sorted({ in: { 'connection.connected': [true, false] } })).toHaveLength(4)
  expect(await sorted({ nin: { 'connection.connected': [true, false] } })).toEqual([])
  expect(await sorted({ exists: { 'connection.connected': false } })).toEqual([])
})

test('devices are found by when they came, went and were heard of, and by never having been', async () => {
  const after = (ms: number) => new Date(EPOCH.getTime() + ms).toISOString()
  expect(await sorted({ lt: { 'connection.seenDate': after(20_000) } })).toEqual(['asked'])
  expect(await sorted({ gte: { 'connection.connectedDate': after(60_000) } })).toEqual(['here'])
  expect(await sorted({ eq: { 'connection.disconnectedDate': after(30_000) } })).toEqual(['went'])
  expect(await sorted({ exists: { 'connection.seenDate': false } })).toEqual(['never'])
  expect(await sorted({ eq: { 'connection.connectedDate': '' } })).toEqual(['asked', 'never'])
  const sort = { parameters: [{ name: 'connection.seenDate', type: 'DESCENDING' }] }
  expect((await found({ exists: { 'connection.seenDate': true } }, { sort }))[0]).toBe('here')
})

test('the console lists as silent none that is connected, however little it says', async () => {
  const now = EPOCH.getTime() + 172_800_000
  expect(await sorted({ and: connectionFilter('silent', now) })).toEqual(['asked', 'went'])
  expect(await sorted({ and: connectionFilter('silent', EPOCH.getTime()) })).toEqual([])
})

test('what is known of the connection is selected, counted and written as CSV, none where nothing is', async () => {
  const [connected, seen] = ['connection.connected', 'connection.seenDate']
  const columns = [...select, { name: connected }, { name: seen }]
  const { body } = await door.ask('POST', '/search/devices?flattened=true', { filter: {}, select: columns })
  const at = (ms: number) => new Date(EPOCH.getTime() + ms).toISOString()
  expect(body.devices).toEqual([
    { id: 'asked', [connected]: false, [seen]: at(10_000) },
    { id: 'here', [connected]: true, [seen]: at(60_000) },
    { id: 'never', [connected]: false },
    { id: 'went', [connected]: false, [seen]: at(30_000) },
  ])
  const csv = await door.ask('POST', '/search/devices', { select: columns }, { accept: 'text/csv' })
  expect(csv.text).toContain(`\nnever;false;\nwent;false;${at(30_000)}\n`)
  const group = { parameters: [{ name: connected }, { name: 'connection.disconnectedDate' }] }
  const counted = await door.ask('POST', '/search/devices/summary', { group })
  expect(counted.body).toMatchObject({ summary: { count: 4, summaryGroup: [{ [connected]: { count: 4 } }, {}] } })
  expect(JSON.stringify(counted.body)).toContain(at(30_000))
})

test('a job is aimed at those that are connected', async () => {
  const target = { append: { filter: { eq: { 'connection.connected': true } } } }
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target }))
  await bench.settle()
  const rows = await database.query(sql`select 1 from operation where job = ${job}`)
  expect(rows).toHaveLength(1)
})

test.each(['connectedDate', 'disconnectedDate', 'seenDate'])(
  'devices without a %s are joined, not looked up one by one: a million would take a second',
  async name => {
    for (const filter of [
      { exists: { [`connection.${name}`]: false } },
      { not: { exists: { [`connection.${name}`]: true } } },
      { eq: { [`connection.${name}`]: '' } },
    ]) {
      const condition = await compileEntityFilter(database, bench.caller.organization, filter)
      const rows = await database.query<{ 'QUERY PLAN': string }>(sql`explain select from entity e where ${condition}`)
      const plan = rows.map(row => row['QUERY PLAN']).join('\n')
      expect(plan).toContain('Anti Join')
      expect(plan).not.toContain('SubPlan')
    }
  },
)
