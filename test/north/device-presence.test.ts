import { expect, test } from 'vitest'
import { partitionOf } from '../../src/domain/identity.ts'
import { devicePresenceRoutes } from '../../src/north/device-presence.ts'
import { recordPresence } from '../../src/store/presence.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const door = openDoor(bench.caller, app => devicePresenceRoutes(app, { database, now: () => bench.clock.now() }))
await bench.provision(['here', 'asked', 'never'])

async function sign(identifier: string, kind: 'connected' | 'seen'): Promise<void> {
  const partition = partitionOf(bench.caller.organization, identifier)
  const [row] = await database.query<{ entity: bigint }>(
    sql`select entity from entity where partition = ${partition}::smallint and identifier = ${identifier}`,
  )
  const connection = kind === 'connected' ? 'c1' : null
  await recordPresence(database, [
    { partition, entity: row!.entity, sign: kind, connection, node: 1, at: bench.clock.now() },
  ])
}

test('devices are counted: all of them, those connected, those heard of lately', async () => {
  await sign('here', 'connected')
  await sign('asked', 'seen')
  const { body } = await door.ask('GET', '/provision/organizations/drover/connectedDevices')
  expect(body).toEqual({ date: bench.clock.now().toISOString(), devices: 3, connected: 1, seenLately: 2 })
})

test('of one device its connection is told, and of none that is not there', async () => {
  const path = '/provision/organizations/drover/devices'
  const at = bench.clock.now().toISOString()
  expect((await door.ask('GET', `${path}/here/connection`)).body).toEqual({
    connected: true,
    connectedDate: at,
    disconnectedDate: '',
    seenDate: at,
  })
  expect((await door.ask('GET', `${path}/never/connection`)).body).toMatchObject({ connected: false, seenDate: '' })
  expect((await door.ask('GET', `${path}/nobody/connection`)).status).toBe(404)
})
