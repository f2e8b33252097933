import { type Fleet, type OnOperation, openFleet } from '../../src/simulator/fleet.ts'
import type { FleetRequest } from '../../src/simulator/options.ts'

/** Opens a fleet and connects it at once, for devices that are provisioned already. Rejects as both do, leaving nothing behind. */
export async function startFleet(request: FleetRequest, onOperation?: OnOperation): Promise<Fleet> {
  const fleet = await openFleet(request, onOperation)
  try {
    await fleet.connect()
    return fleet
  } catch (error) {
    await fleet.stop()
    throw error
  }
}
