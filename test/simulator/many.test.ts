import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Fleet } from '../../src/simulator/fleet.ts'
import { type FakeService, openFakeService } from './fake-service.ts'
import { startFleet } from './started-fleet.ts'

let service: FakeService
let fleet: Fleet | undefined

beforeEach(async () => {
  service = await openFakeService()
})

afterEach(async () => {
  await fleet?.stop()
  await service.close()
})

test('two thousand MQTT devices in one process each do one operation, once', async () => {
  const devices = 2000
  fleet = await startFleet({ apiKey: 'key', mqtt: service.mqtt, devices, flows: { mqtt: 1 }, parts: 1 })
  expect(fleet.counters.connected).toBe(devices)
  for (const { id } of fleet.devices) await service.publish(id, `op-${id}`, 'UPDATE', { deploymentElements: [{}] })
  const finals = await service.finals(devices)
  expect(new Set(finals.map(({ response }) => response.operationId)).size).toBe(devices)
  expect(fleet.counters).toMatchObject({ received: devices, executed: devices, repeated: 0, doubled: 0 })
})
