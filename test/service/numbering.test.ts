import { afterAll, expect, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { silentLog } from '../database.ts'
import { DEVICES, openHouse } from './house.ts'

const house = await openHouse()
const database = openDatabase({ url: house.databaseUrl, max: 1, log: silentLog })
afterAll(() => database.close())

test('a service numbers by the salt that it holds in the database', async () => {
  const device = { 'provision.device.identifier': { _current: { value: 'pump-1' } } }
  const { status } = await house.call('POST', DEVICES, { resourceType: 'entity.device', ...device })
  expect(status).toBe(201)
  const [salt] = await database.query(sql`select salt, node from number_salt`)
  const [named] = await database.query(
    sql`select (e.entity >> 11 & 1023)::smallint as salt, n.node from entity e, node n`,
  )
  expect(salt).toEqual(named)
})
