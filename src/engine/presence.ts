/**
 * What a device's coming and going does to its operations: a connect sends what waits for it, and sends again what a broken
 * connection may have swallowed. Presence is recorded first, then the waiting ones are looked for. Refuses to know brokers.
 */
import type { Database } from '../store/database.ts'
import { type DeviceNumbers, liveOperationsOf } from '../store/operation-devices.ts'
import { connectedAmongDevices, type PresenceSign, recordPresence } from '../store/presence.ts'
import type { Clock } from './clock.ts'
import { gathered } from './device-batch.ts'
import type { Happening } from './operation-draft.ts'
import { applyHappenings } from './operation-transitions.ts'

export interface Presence {
  /** The device has connected over MQTT; `connection` tells this connection from the next one. */
  connected(device: DeviceNumbers, connection: string): Promise<void>
  /** A connection has ended; one that was replaced meanwhile changes nothing. */
  disconnected(device: DeviceNumbers, connection: string): Promise<void>
  /** The device was heard of. */
  seen(device: DeviceNumbers): Promise<void>
  /** Looks again at devices whose operations have just begun to wait: one that connected meanwhile is sent to at once. */
  lookAgain(devices: readonly DeviceNumbers[]): Promise<void>
}

export function createPresence(parts: {
  database: Database
  clock: Clock
  node: number
  onCommit: () => void
}): Presence {
  const { database, clock, node, onCommit } = parts

  const record = gathered(async (signs: readonly PresenceSign[]) => {
    const lastSigns = new Map<bigint, PresenceSign>()
    for (const sign of signs) {
      // A mere sight must not hide that the device came or went in the same batch.
      if (sign.sign !== 'seen' || !lastSigns.has(sign.entity)) lastSigns.set(sign.entity, sign)
    }
    await recordPresence(database, [...lastSigns.values()])
    await wakeOperations([...lastSigns.values()].filter(sign => sign.sign === 'connected'))
    return signs.map(() => undefined)
  })

  async function wakeOperations(devices: readonly DeviceNumbers[]): Promise<void> {
    const operations = await liveOperationsOf(database, devices)
    const happenings = operations.flatMap((operation): Happening[] => {
      if (operation.status === 'WAITING_FOR_CONNECTION') return [{ key: operation, seen: 'connected' }]
      const overMqtt = operation.status === 'WAITING_FOR_ACK' && operation.flow === 'mqtt'
      return overMqtt ? [{ key: operation, seen: 'reconnected' }] : []
    })
    if (happenings.length === 0) return
    await database.transaction(tx => applyHappenings(tx, happenings, clock.now()))
    onCommit()
  }

  const sign = (kind: PresenceSign['sign'], { partition, entity }: DeviceNumbers, connection: string | null) =>
    record({ partition, entity, sign: kind, connection, node, at: clock.now() })

  return {
    connected: (device, connection) => sign('connected', device, connection),
    disconnected: (device, connection) => sign('disconnected', device, connection),
    seen: device => sign('seen', device, null),
    async lookAgain(devices) {
      const connected = await connectedAmongDevices(database, devices)
      if (connected.length > 0) await wakeOperations(connected)
    },
  }
}
