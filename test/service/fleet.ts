/** Fleets of pretend devices for tests of the whole service: provisioned over the client interface, then switched on. */
import { expect } from 'vitest'
import { provisioningOf } from '../../src/simulator/devices.ts'
import { type Fleet, type OnOperation, openFleet } from '../../src/simulator/fleet.ts'
import type { FleetRequest } from '../../src/simulator/options.ts'
import type { Client } from './client.ts'

/** Brings a fleet up; the caller stops it. */
export async function bringUpFleet(
  { client, mqtt }: { client: Client; mqtt: string },
  request: Partial<FleetRequest>,
  onOperation?: OnOperation,
): Promise<Fleet> {
  const fleet = await openFleet({ apiKey: client.apiKey, url: client.url, mqtt, ...request }, onOperation)
  try {
    const { status, body } = await client.call<unknown>(
      'POST',
      '/north/v80/provision/organizations/drover/bulk/entities?action=CREATE&flattened=true',
      { entities: fleet.devices.map(device => provisioningOf(device, 'drover')) },
    )
    expect(status, JSON.stringify(body).slice(0, 2_000)).toBeLessThan(300)
    await fleet.connect()
    return fleet
  } catch (error) {
    await fleet.stop()
    throw error
  }
}
