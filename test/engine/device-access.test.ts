import { beforeEach, expect, it } from 'vitest'
import { createDeviceAccess } from '../../src/engine/device-access.ts'
import type { Database } from '../../src/store/database.ts'
import type { EntityKey } from '../../src/store/entities.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { addEntity, addOrganization, hashKey, testEntities } from '../entity-rows.ts'

const { database } = await testDatabase()
let nowMs = 0
const clock = { now: () => new Date(nowMs), sleepUntil: async () => {} }
let queries = 0
const counted: Database = {
  ...database,
  run(statement, params) {
    queries += 1
    return database.run(statement, params)
  },
}
const access = createDeviceAccess({ database: counted, clock, hashKey, keptMs: 5_000 })
const onGone = (devices: readonly EntityKey[]) => access.forgetDevices(devices)
const entities = testEntities(database, { onGone })
const acme = await addOrganization(database, 'acme')
const other = await addOrganization(database, 'other')
const identifier = 'provision.device.identifier'
const d1 = await addEntity(database, entities, acme, { [identifier]: 'd1' })
const d1OfOther = await addEntity(database, entities, other, { [identifier]: 'd1' })

async function user(email: string, profile: string, key: string): Promise<void> {
  await database.query(
    sql`insert into users (email, organization, profile, password_hash, api_key_hash, api_key_sealed, created_at)
        values (${email}, ${acme.organization}, ${profile}, '', ${hashKey(key)}, '', now())`,
  )
}
await user('a@acme', 'advanced', 'user-key')
await user('v@acme', 'viewer', 'viewer-key')

beforeEach(() => {
  nowMs += 60_000
  queries = 0
})

it('lets a device in by its own key, in the organization whose key it is', async () => {
  expect(await access.authenticate('d1', d1.apiKey!)).toEqual({
    ...acme,
    deviceId: 'd1',
    partition: d1.partition,
    entity: d1.entity,
    by: 'device',
  })
  expect(await access.authenticate('d1', d1OfOther.apiKey!)).toMatchObject({ organizationName: 'other' })
})

it("lets a device in by the key of a user who manages its organization's devices", async () => {
  expect(await access.authenticate('d1', 'user-key')).toMatchObject({ entity: d1.entity, by: 'user' })
})

it('lets nobody in by the key of a user who must change the password first', async () => {
  await user('f@acme', 'advanced', 'key-of-old-password')
  await database.query(sql`update users set document = '{"forcePasswordChange": true}' where email = 'f@acme'`)
  expect(await access.authenticate('d1', 'key-of-old-password')).toBeUndefined()
  await database.query(sql`update users set document = '{}' where email = 'f@acme'`)
  expect(await access.authenticate('d1', 'key-of-old-password')).toMatchObject({ by: 'user' })
})

it('lets nobody else in', async () => {
  await addEntity(database, entities, acme, { [identifier]: 'd2' })
  await addEntity(database, entities, other, { [identifier]: 'only-other' })
  await addEntity(database, entities, acme, { 'provision.asset.identifier': 'asset' })
  const refused: [string, string][] = [
    ['d2', d1.apiKey!],
    ['d1', 'no-key'],
    ['d1', ''],
    ['d9', 'user-key'],
    ['d1', 'viewer-key'],
    ['only-other', 'user-key'],
    ['asset', 'user-key'],
    ['d1\u0000', 'user-key'],
    ['d1', 'x'.repeat(5_000)],
  ]
  for (const [deviceId, key] of refused) expect(await access.authenticate(deviceId, key)).toBeUndefined()
})

it('asks the database once for many devices at once, and not again for seconds', async () => {
  const devices = await Promise.all(
    Array.from({ length: 300 }, (_, at) => addEntity(database, entities, acme, { [identifier]: `many-${at}` })),
  )
  const all = () => Promise.all(devices.map(({ identifier: id, apiKey }) => access.authenticate(id, apiKey!)))
  expect((await all()).map(device => device?.deviceId)).toEqual(devices.map(each => each.identifier))
  expect(queries).toBeLessThan(10)
  const before = queries
  await all()
  expect(queries).toBe(before)
})

it('heeds the end of a key at once here, and within seconds where it was not told', async () => {
  const device = await addEntity(database, entities, acme, { [identifier]: 'k1' })
  expect(await access.authenticate('k1', device.apiKey!)).toBeDefined()
  const renewed = await entities.renewKey(acme.organization, 'k1')
  expect(await access.authenticate('k1', device.apiKey!)).toBeUndefined()
  expect(await access.authenticate('k1', renewed)).toBeDefined()
  await testEntities(database).revokeKey(acme.organization, 'k1')
  expect(await access.authenticate('k1', renewed)).toBeDefined()
  nowMs += 5_000
  expect(await access.authenticate('k1', renewed)).toBeUndefined()
})

it('no longer knows a device that was deleted, nor a user who may no longer', async () => {
  const device = await addEntity(database, entities, acme, { [identifier]: 'g1' })
  expect(await access.authenticate('g1', device.apiKey!)).toBeDefined()
  expect(await access.authenticate('d1', 'user-key')).toBeDefined()
  await entities.write(acme, 'DELETE', [{ said: new Map(), identifier: 'g1' }])
  expect(await access.authenticate('g1', device.apiKey!)).toBeUndefined()
  await database.query(sql`update users set profile = 'viewer' where email = 'a@acme'`)
  access.forgetUsers()
  expect(await access.authenticate('d1', 'user-key')).toBeUndefined()
})

it('does not remember as good a key that ended while it was looked up', async () => {
  const device = await addEntity(database, entities, acme, { [identifier]: 'r1' })
  const looking = access.authenticate('r1', device.apiKey!)
  await entities.revokeKey(acme.organization, 'r1')
  await looking
  expect(await access.authenticate('r1', device.apiKey!)).toBeUndefined()
})

it('has no key for what is no device', async () => {
  await expect(entities.renewKey(acme.organization, 'asset')).rejects.toMatchObject({ entry: { code: '0x010006' } })
  await expect(entities.revokeKey(acme.organization, 'nobody')).rejects.toMatchObject({ entry: { code: '0x010006' } })
})
