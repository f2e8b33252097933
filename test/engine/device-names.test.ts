import { expect, test } from 'vitest'
import { partitionOf } from '../../src/domain/identity.ts'
import { createDeviceNames } from '../../src/engine/device-names.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createVirtualClock } from '../virtual-clock.ts'

const { database } = await testDatabase()
const clock = createVirtualClock(new Date('2026-03-02T10:00:00Z'))
const made = await database.query<{ organization: number }>(
  sql`insert into organization (name, created_at) values ('one', now()), ('two', now()) returning organization`,
)
const [one, two] = made.map(({ organization }) => organization) as [number, number]

let entities = 0n
async function provision(organization: number, identifier: string, resourceType = 'entity.device'): Promise<bigint> {
  entities += 1n
  await database.query(
    sql`insert into entity (partition, entity, organization, identifier, resource_type, document, created_at, updated_at)
        values (${partitionOf(organization, identifier)}, ${entities}, ${organization}, ${identifier}, ${resourceType}, '{}', now(), now())`,
  )
  return entities
}

test('a device is found by its id alone, whatever its organization', async () => {
  const entity = await provision(two, 'pump-1')
  const names = createDeviceNames({ database, clock })
  expect(await names.find('pump-1')).toEqual({
    organization: two,
    deviceId: 'pump-1',
    partition: partitionOf(two, 'pump-1'),
    entity,
  })
})

test('an id that several organizations use is the name of none, and so is one of something else', async () => {
  await provision(one, 'twin')
  await provision(two, 'twin')
  await provision(one, 'hall', 'entity.asset')
  const names = createDeviceNames({ database, clock })
  expect(await Promise.all(['twin', 'hall', 'nobody', 'a\u0000b', '\ud800'].map(id => names.find(id)))).toEqual(
    Array(5).fill(undefined),
  )
})

test('what was found is kept for seconds, unless it is told to be gone', async () => {
  const entity = await provision(one, 'pump-2')
  const names = createDeviceNames({ database, clock })
  expect((await names.find('pump-2'))?.entity).toBe(entity)
  await database.query(sql`delete from entity where entity = ${entity}`)
  expect((await names.find('pump-2'))?.entity).toBe(entity)
  await clock.advanceBy(5_000)
  expect(await names.find('pump-2')).toBeUndefined()

  const another = await provision(one, 'pump-3')
  expect((await names.find('pump-3'))?.entity).toBe(another)
  await database.query(sql`delete from entity where entity = ${another}`)
  names.forget([{ entity: another }])
  expect(await names.find('pump-3')).toBeUndefined()
})
