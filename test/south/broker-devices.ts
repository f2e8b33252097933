/** An embedded broker between stand-ins, and devices that speak to it. */
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { beforeEach, onTestFinished } from 'vitest'
import { type MqttBrokerSettings, openMqttBroker } from '../../src/south/mqtt-broker.ts'
import { notes, type StandIns, standIns } from './parts.ts'

export let house: StandIns
beforeEach(() => {
  house = standIns()
})

export async function open(settings: Partial<MqttBrokerSettings> = {}) {
  const broker = await openMqttBroker(house.parts, { host: '127.0.0.1', port: 0, node: 'n1', ...settings })
  onTestFinished(() => broker.stop(1000))
  return broker
}

/** A device as it connects; its requests are noted. */
export async function connect(port: number, deviceId: string, options: IClientOptions = {}) {
  const credentials = { username: deviceId, password: `key-of-${deviceId}` }
  const once4 = { reconnectPeriod: 0, protocolVersion: 4, resubscribe: false } as const
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { ...credentials, ...once4, ...options }, false)
  onTestFinished(() => void client.end(true))
  const requests = notes<string>()
  client.on('message', (_topic, payload) => requests.add(payload.toString()))
  return Object.assign(client, { requests })
}

export async function subscribe(client: MqttClient, deviceId: string, qos: 0 | 1 | 2 = 1): Promise<number | undefined> {
  const [granted] = await client.subscribeAsync(`odm/request/${deviceId}`, { qos })
  return granted?.qos
}

export const publish = (client: MqttClient, topic: string, payload: unknown, qos: 0 | 1 | 2 = 1) =>
  client.publishAsync(topic, typeof payload === 'string' ? payload : JSON.stringify(payload), { qos })

export const response = (members: Record<string, unknown> = {}) => ({
  operation: { response: { id: 'op-1', ...members } },
})

export const closed = (client: MqttClient) => new Promise<void>(resolve => client.once('close', () => resolve()))

/** Resolves when a packet that follows everything sent so far was answered. */
export const roundTrip = (client: MqttClient, deviceId: string) =>
  client.unsubscribeAsync(`odm/request/${deviceId}/none`)
