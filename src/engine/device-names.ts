/**
 * Finds the device that a topic of an external broker names: by its id alone, since the broker says nothing of organizations. What was
 * found is kept for seconds. Refuses to authenticate anybody; that is the broker's part.
 */
import type { Database } from '../store/database.ts'
import { devicesById, type NamedDevice } from '../store/device-names.ts'
import type { Clock } from './clock.ts'
import { gathered } from './gathering.ts'

export interface DeviceNames {
  /** The one device of that id; undefined where there is none or where several organizations have one. */
  find(deviceId: string): Promise<NamedDevice | undefined>
  /** From now on these devices are looked for anew. */
  forget(devices: readonly { readonly entity: bigint }[]): void
}

interface Kept {
  readonly device: NamedDevice
  readonly until: number
}

/** Makes the finder; `keptMs` and `keptMax` bound what it remembers. */
export function createDeviceNames(parts: {
  readonly database: Database
  readonly clock: Clock
  readonly keptMs?: number
  readonly keptMax?: number
}): DeviceNames {
  const { database, clock, keptMs = 5_000, keptMax = 50_000 } = parts
  const kept = new Map<string, Kept>()

  const lookUp = gathered(async (ids: readonly string[]) => {
    const found = Map.groupBy(await devicesById(database, [...new Set(ids)]), ({ deviceId }) => deviceId)
    return ids.map(id => {
      const devices = found.get(id) ?? []
      return devices.length === 1 ? devices[0] : undefined
    })
  })

  return {
    async find(deviceId) {
      if (deviceId.includes('\u0000') || !deviceId.isWellFormed()) return undefined
      const known = kept.get(deviceId)
      const now = clock.now().getTime()
      if (known !== undefined && now < known.until) return known.device
      kept.delete(deviceId)
      const device = await lookUp(deviceId)
      if (device !== undefined) kept.set(deviceId, { device, until: now + keptMs })
      if (kept.size > keptMax) kept.delete(kept.keys().next().value!)
      return device
    },
    forget(devices) {
      const gone = new Set(devices.map(({ entity }) => entity))
      for (const [id, { device }] of kept) if (gone.has(device.entity)) kept.delete(id)
    },
  }
}
