/**
 * All MQTT devices of a fleet: each its own connection, its own user name and its own topics, coming back by itself when the broker
 * goes away.
 */
import { connect, type IClientOptions, type MqttClient } from 'mqtt'
import { readDeviceRequest } from '../contract/device.ts'
import { deviceTopic } from '../contract/device-addresses.ts'
import { parseJson } from '../contract/reading.ts'
import type { Receive, Sender } from './device-run.ts'
import type { FleetDevice } from './devices.ts'
import type { Ledger } from './ledger.ts'
import type { FleetOptions } from './options.ts'
import type { Pauses } from './pauses.ts'
import { randomOf } from './random.ts'

/** The connections of a fleet's MQTT devices. */
export interface MqttDevices {
  /** Connects the MQTT devices among these; settles when each has subscribed to its requests, or the fleet stops. */
  connect(devices: readonly FleetDevice[]): Promise<void>
  stop(): Promise<void>
}

/** Connections opened at the same time. */
const CONNECTING_MAX = 100
const KEEPALIVE_S = 120
const CONNECT_TIMEOUT_MS = 30_000
const RECONNECT_FIRST_MS = 500
const RECONNECT_SPREAD_MS = 2000

/** Prepares the devices; nothing is connected yet. */
export function createMqttDevices(
  options: Pick<FleetOptions, 'mqtt' | 'apiKey' | 'seed'>,
  fleet: { ledger: Ledger; receive: Receive; pauses: Pauses },
): MqttDevices {
  const clients = new Set<MqttClient>()
  const { ledger, receive, pauses } = fleet

  function open(deviceId: string): Promise<void> {
    const jitter = randomOf(options.seed, deviceId, 'reconnect')()
    const settings: IClientOptions = {
      clientId: deviceId,
      username: deviceId,
      password: options.apiKey,
      keepalive: KEEPALIVE_S,
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectPeriod: RECONNECT_FIRST_MS + Math.round(jitter * RECONNECT_SPREAD_MS),
      // Not yet provisioned, or the service is just starting: a device that is refused tries again.
      reconnectOnConnackError: true,
      resubscribe: false,
      timerVariant: 'native',
    }
    const client = connect(options.mqtt, settings)
    clients.add(client)
    const send: Sender = async message => {
      try {
        await client.publishAsync(deviceTopic('response', deviceId), JSON.stringify(message), { qos: 1 })
        return 'delivered'
      } catch {
        return 'undelivered'
      }
    }
    client.on('message', (_topic, payload) => {
      const parsed = parseJson(payload)
      const reading = parsed.ok ? readDeviceRequest(parsed.value) : parsed
      if (reading.ok) void receive(deviceId, 'mqtt', reading.value, send)
      else ledger.counters.unreadable++
    })
    // mqtt.js raises an error for each failed attempt; it also tries again, which is all there is to do.
    client.on('error', () => undefined)
    return new Promise(resolve => {
      let isBack = false
      let isUp = false
      client.on('connect', () => {
        if (isBack) ledger.counters.reconnects++
        isBack = true
        client.subscribe(deviceTopic('request', deviceId), { qos: 1 }, error => {
          if (error !== null || isUp) return
          isUp = true
          ledger.counters.connected++
          resolve()
        })
      })
      client.on('close', () => {
        if (isUp) ledger.counters.connected--
        isUp = false
      })
      client.on('end', () => resolve())
    })
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
      await Promise.all(Array.from({ length: Math.min(CONNECTING_MAX, ids.length) }, openInTurn))
    },
    async stop() {
      await Promise.all([...clients].map(client => client.endAsync(true)))
      clients.clear()
    },
  }
}
