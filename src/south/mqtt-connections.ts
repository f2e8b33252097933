/**
 * Which devices are connected to the embedded broker, over which of their connections requests reach them, and that the engine
 * hears of it in order. It knows no packet and no socket.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { SouthDevice, SouthParts } from './parts.ts'

/** A connection of an authenticated device. */
export interface MqttConnection {
  /** unlike any other connection's, in this process and the others */
  readonly name: string
  /** organization, device and client id: a second connection of the same takes over from the first */
  readonly session: string
  readonly device: SouthDevice
  readonly requestTopic: string
  /** whether its key would be accepted now */
  isStillGood(): Promise<boolean>
  /** aborted when the connection has ended */
  readonly ended: AbortController
  close(): void
}

export interface MqttConnections {
  /** books a connection, and closes the one that it takes over from */
  admit(connection: MqttConnection): void
  /** the connection has subscribed to the requests of its device: the device is present */
  reach(connection: MqttConnection): void
  /** it has unsubscribed */
  lose(connection: MqttConnection): void
  end(connection: MqttConnection): void
  isReachable(connection: MqttConnection): boolean
  /** the connection of a device that subscribed last, by the number of the device */
  lastReachable(entity: bigint): MqttConnection | undefined
  closeAll(entity: bigint): void
  /** judges the key of every connection, some at a time, and closes those that would not be let in any more */
  recheck(): Promise<void>
  /** resolves when the engine has heard of everything so far, or when the signal aborts */
  settled(signal: AbortSignal): Promise<unknown>
}

/** Keys judged at once: as many as the look-up takes in one batch. */
const RECHECKED_AT_ONCE = 500
/** Made once: ten thousand connections end together when a network does. */
const ENDED = new Error('the connection has ended')
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 5000

/** Makes the book of one broker. Presence that cannot be recorded is tried again with growing pauses. */
export function mqttConnections({ presence, now, log }: Pick<SouthParts, 'presence' | 'now' | 'log'>): MqttConnections {
  const bySession = new Map<string, MqttConnection>()
  const admitted = new Map<bigint, Set<MqttConnection>>()
  const reachable = new Map<bigint, Set<MqttConnection>>()
  const telling = new Map<bigint, Promise<void>>()
  const stopping = new AbortController()

  const isReachable = (connection: MqttConnection) => reachable.get(connection.device.entity)?.has(connection) ?? false
  const lastReachable = (entity: bigint) => [...(reachable.get(entity) ?? [])].at(-1)

  /** A device's comings and goings are told one after the other, each until it is recorded. */
  function tell(connection: MqttConnection, sign: 'connected' | 'disconnected'): void {
    const { entity } = connection.device
    const at = now()
    const told = (telling.get(entity) ?? Promise.resolve())
      .then(() => record(connection, sign, at))
      .catch((error: unknown) => {
        log.warn({ err: error, device: connection.device.deviceId, sign }, 'presence was not recorded')
      })
      .finally(() => {
        if (telling.get(entity) === told) telling.delete(entity)
      })
    telling.set(entity, told)
  }

  /** What comes to be recorded late may have been overtaken: by its own end, or by the next connection, at another node. */
  async function record(connection: MqttConnection, sign: 'connected' | 'disconnected', at: Date): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        if (sign === 'disconnected') return await presence.disconnected(connection.device, connection.name)
        return isReachable(connection) ? await presence.connected(connection.device, connection.name, at) : undefined
      } catch (error) {
        if (stopping.signal.aborted) throw error
        log.warn({ err: error, device: connection.device.deviceId, sign }, 'presence is recorded again')
        await pause(pauseMs, undefined, { signal: stopping.signal })
      }
    }
  }

  function lose(connection: MqttConnection): void {
    const { entity } = connection.device
    const wasLast = lastReachable(entity) === connection
    if (!remove(reachable, entity, connection)) return
    tell(connection, 'disconnected')
    const next = lastReachable(entity)
    if (wasLast && next !== undefined) tell(next, 'connected')
  }

  return {
    admit(connection) {
      bySession.get(connection.session)?.close()
      bySession.set(connection.session, connection)
      add(admitted, connection.device.entity, connection)
    },
    reach(connection) {
      if (connection.ended.signal.aborted) return
      const { entity } = connection.device
      const again = remove(reachable, entity, connection)
      add(reachable, entity, connection)
      if (!again) tell(connection, 'connected')
    },
    lose,
    end(connection) {
      connection.ended.abort(ENDED)
      if (bySession.get(connection.session) === connection) bySession.delete(connection.session)
      remove(admitted, connection.device.entity, connection)
      lose(connection)
    },
    isReachable,
    lastReachable,
    closeAll(entity) {
      for (const connection of [...(admitted.get(entity) ?? [])]) connection.close()
    },
    async recheck() {
      const all = [...admitted.values()].flatMap(connections => [...connections])
      for (let at = 0; at < all.length && !stopping.signal.aborted; at += RECHECKED_AT_ONCE) {
        const some = all.slice(at, at + RECHECKED_AT_ONCE)
        const good = await Promise.all(some.map(connection => connection.isStillGood()))
        for (const [k, connection] of some.entries()) if (!good[k]) connection.close()
      }
    },
    settled(signal) {
      signal.addEventListener('abort', () => stopping.abort(), { once: true })
      return Promise.all(telling.values())
    },
  }
}

function add(sets: Map<bigint, Set<MqttConnection>>, key: bigint, connection: MqttConnection): void {
  const set = sets.get(key) ?? new Set()
  sets.set(key, set.add(connection))
}

function remove(sets: Map<bigint, Set<MqttConnection>>, key: bigint, connection: MqttConnection): boolean {
  const set = sets.get(key)
  const removed = set?.delete(connection) ?? false
  if (set?.size === 0) sets.delete(key)
  return removed
}
