/** More clients at once than the service has database connections: each is answered, since none waits for a second one. */
import { expect, test } from 'vitest'
import { openHouse } from './house.ts'

const CONNECTIONS = 4
const { client } = await openHouse({ DROVER_DATABASE_CONNECTIONS_MAX: String(CONNECTIONS) })

test('many more jobs and tasks than there are database connections are made at once', async () => {
  const device = { 'provision.device.identifier': { _value: { _current: { value: 'd1' } } } }
  const path = '/north/v80/provision/organizations/drover/devices?flattened=true'
  expect((await client.call('POST', path, device)).status).toBe(201)
  const job = { request: { name: 'REBOOT_EQUIPMENT', active: false, target: { append: { entities: ['d1'] } } } }
  const asked = Array.from({ length: CONNECTIONS * 10 }, () => [
    client.call('POST', '/north/v80/operation/jobs', { job }),
    client.call('POST', '/north/v80/operation/tasks', { task: { active: false, job } }),
  ]).flat()
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  expect(statuses.filter(status => status !== 201)).toEqual([])
})
