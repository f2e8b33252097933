/**
 * All MQTT devices of a fleet: each its own connection, its own user name and its own topics, coming back by itself when the broker
 * goes away.
 */
import { readDeviceRequest } from '../contract/device.ts'
import { deviceTopic } from '../contract/device-addresses.ts'
import { parseJson } from '../contract/reading.ts'
import type { Receive, Sender } from './device-run.ts'
import type { FleetDevice } from './devices.ts'
import type { Ledger } from './ledger.ts'
import { type MqttSession, openMqttSession } from './mqtt-session.ts'
import type { FleetOptions } from './options.ts'
import type { Pauses } from './pauses.ts'
import { randomOf } from './random.ts'

/** The connections of a fleet's MQTT devices. */
export interface MqttDevices {
  /** Connects the MQTT devices among these; settles when each has subscribed to its requests. */
  connect(devices: readonly FleetDevice[]): Promise<void>
  stop(): void
}

/** Connections opened at the same time. */
const CONNECTING_MAX = 100
const KEEPALIVE_S = 120
/** Each connection is looked after once in so many seconds, a share of them every second. */
const PING_EVERY_S = 60

/** Prepares the devices; nothing is connected yet. */
export function createMqttDevices(
  options: Pick<FleetOptions, 'mqtt' | 'apiKey' | 'seed'>,
  fleet: { ledger: Ledger; receive: Receive; pauses: Pauses },
): MqttDevices {
  const { ledger, receive, pauses } = fleet
  const broker = new URL(options.mqtt)
  const random = randomOf(options.seed, 'mqtt')
  const sessions: MqttSession[] = []

  /** Settles when the device is up for the first time. */
  function open(deviceId: string): Promise<void> {
    return new Promise(resolve => {
      let wasUp = false
      const session = openMqttSession({
        broker,
        deviceId,
        password: options.apiKey,
        topic: deviceTopic('request', deviceId),
        keepaliveS: KEEPALIVE_S,
        pauses,
        random,
        onUp() {
          ledger.counters.connected++
          if (wasUp) ledger.counters.reconnects++
          wasUp = true
          resolve()
        },
        onDown() {
          ledger.counters.connected--
        },
        onMessage(payload) {
          const parsed = parseJson(payload)
          const reading = parsed.ok ? readDeviceRequest(parsed.value) : parsed
          if (reading.ok) void receive(deviceId, 'mqtt', reading.value, send)
          else ledger.counters.unreadable++
        },
      })
      const send: Sender = async message => {
        const taken = await session.publish(deviceTopic('response', deviceId), JSON.stringify(message))
        return taken ? 'delivered' : 'undelivered'
      }
      sessions.push(session)
    })
  }

  async function keepAlive(): Promise<void> {
    for (let second = 0; await pauses.pause(1000); second = (second + 1) % PING_EVERY_S) {
      for (let index = second; index < sessions.length; index += PING_EVERY_S) sessions[index]?.ping()
    }
  }

  return {
    async connect(devices) {
      const ids = devices.filter(({ flow }) => flow === 'mqtt').map(({ id }) => id)
      const waiting = ids.values()
      const openInTurn = async (): Promise<void> => {
        for (const id of waiting) {
          if (pauses.stopped) return
          await open(id)
        }
      }
      if (ids.length > 0) void keepAlive()
      await Promise.all(Array.from({ length: Math.min(CONNECTING_MAX, ids.length) }, openInTurn))
    },
    stop() {
      for (const session of sessions.splice(0)) session.close()
    },
  }
}
