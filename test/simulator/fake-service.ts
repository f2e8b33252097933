/**
 * The least of a service that a fleet can talk to: it hands out requests, takes responses and remembers them, over HTTP and with a
 * broker. What it answers can be changed from test to test.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { Aedes } from 'aedes'
import { request as httpRequest } from 'undici'
import {
  type DeviceResponse,
  parseDeviceResponse,
  readDeviceResponse,
  writeDeviceRequest,
} from '../../src/contract/device.ts'
import { deviceTopic, readDeviceTopic } from '../../src/contract/device-addresses.ts'
import type { JsonObject } from '../../src/contract/reading.ts'

/** A response as it arrived. */
export interface Arrival {
  deviceId: string
  way: 'http' | 'mqtt' | 'exchange'
  apiKey: string
  response: DeviceResponse
}

export interface FakeService {
  url: string
  mqtt: string
  arrivals: Arrival[]
  /** Status codes that the next posted responses get instead of 200. */
  nextStatuses: number[]
  /** Resolves once so many responses of the operation have arrived. */
  arrived(operationId: string, count: number): Promise<Arrival[]>
  /** Resolves once that many final responses have arrived in all. */
  finals(count: number): Promise<Arrival[]>
  /** Resolves once the device waits for requests over MQTT. */
  subscribed(deviceId: string): Promise<unknown>
  /** Leaves a request to be pulled. */
  leave(deviceId: string, id: string, name: string, parameters?: JsonObject): void
  /** Sends a request over MQTT; resolves once the broker has it, which takes only so many at a time. */
  publish(deviceId: string, id: string, name: string, parameters?: JsonObject): Promise<void>
  /** Pushes a request over HTTP; resolves with the status and the answer. */
  push(
    url: string,
    deviceId: string,
    id: string,
    name: string,
    parameters?: JsonObject,
  ): Promise<{ status: number; response: DeviceResponse }>
  /** Launches an operation anew: what is sent of it from now on is a new attempt, and no repeat. */
  launchAgain(id: string): void
  /** Cuts every MQTT connection. */
  cutMqtt(): void
  close(): Promise<void>
}

export async function openFakeService(apiKey = 'key'): Promise<FakeService> {
  const arrivals: Arrival[] = []
  const nextStatuses: number[] = []
  const left = new Map<string, string[]>()
  const held = new Map<string, ServerResponse>()
  const waiters = new Set<() => void>()

  const finals: Arrival[] = []

  function arrive(arrival: Arrival): void {
    arrivals.push(arrival)
    if (arrival.response.resultCode !== undefined) finals.push(arrival)
    for (const waiter of waiters) waiter()
  }

  function until(found: () => Arrival[] | undefined): Promise<Arrival[]> {
    return new Promise(resolve => {
      const look = () => {
        const arrivals = found()
        if (arrivals === undefined) return
        waiters.delete(look)
        resolve(arrivals)
      }
      waiters.add(look)
      look()
    })
  }

  function hold(deviceId: string, response: ServerResponse, waitMs: number): void {
    held.set(deviceId, response)
    const timer = setTimeout(() => {
      if (held.get(deviceId) === response) held.delete(deviceId)
      response.writeHead(204).end()
    }, waitMs)
    response.once('close', () => clearTimeout(timer))
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, , , , deviceId = '', , word = ''] = (request.url ?? '').split(/[/?]/)
    const key = String(request.headers['x-apikey'])
    if (key !== apiKey) {
      response.writeHead(401).end()
    } else if (word === 'pending') {
      const next = left.get(deviceId)?.shift()
      if (next === undefined) hold(deviceId, response, Number(request.url?.split('wait=')[1]) * 1000)
      else response.end(next)
    } else if (word === 'iot' || word === 'dmm') {
      request.resume()
      response.writeHead(201).end()
    } else {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const reading = parseDeviceResponse(Buffer.concat(chunks))
      const status = nextStatuses.shift() ?? (reading.ok ? 200 : 400)
      response.writeHead(status).end()
      if (reading.ok && status === 200) arrive({ deviceId, way: 'http', apiKey: key, response: reading.value })
    }
  }

  const http = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const broker = await Aedes.createBroker()
  broker.authenticate = (client, username, password, done) => {
    done(null, client.id.startsWith(username ?? ' ') && password?.toString() === apiKey)
  }
  const subscribed = new Set<string>()
  broker.on('subscribe', subscriptions => {
    for (const { topic } of subscriptions) subscribed.add(topic)
    for (const waiter of waiters) waiter()
  })
  broker.on('publish', (packet, client) => {
    const topic = readDeviceTopic(packet.topic)
    if (client === null || topic?.kind !== 'response') return
    const reading = parseDeviceResponse(packet.payload as Buffer)
    if (reading.ok && client.id.startsWith(topic.deviceId))
      arrive({ deviceId: topic.deviceId, way: 'mqtt', apiKey, response: reading.value })
  })
  const sockets = new Set<Socket>()
  const tcp = createTcpServer(socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    broker.handle(socket)
  })
  const httpPort = await listen(http)
  const mqttPort = await listen(tcp)
  const launches = new Map<string, number>()
  const write = (deviceId: string, id: string, name: string, parameters: JsonObject = {}) => {
    const sentAt = launches.get(id) ?? Date.now()
    launches.set(id, sentAt)
    return JSON.stringify(writeDeviceRequest({ id, name, deviceId, parameters, form: 'typed', sentAt }))
  }

  return {
    url: `http://127.0.0.1:${httpPort}`,
    mqtt: `mqtt://127.0.0.1:${mqttPort}`,
    arrivals,
    nextStatuses,
    arrived: (operationId, count) =>
      until(() => {
        const found = arrivals.filter(({ response }) => response.operationId === operationId)
        return found.length >= count ? found : undefined
      }),
    finals: count => until(() => (finals.length >= count ? [...finals] : undefined)),
    subscribed: deviceId => until(() => (subscribed.has(deviceTopic('request', deviceId)) ? [] : undefined)),
    leave(deviceId, id, name, parameters) {
      const body = write(deviceId, id, name, parameters)
      const waiting = held.get(deviceId)
      held.delete(deviceId)
      if (waiting === undefined) left.set(deviceId, [...(left.get(deviceId) ?? []), body])
      else waiting.writeHead(200).end(body)
    },
    publish(deviceId, id, name, parameters) {
      const payload = write(deviceId, id, name, parameters)
      const topic = deviceTopic('request', deviceId)
      const packet = { cmd: 'publish', topic, payload, qos: 1, retain: false, dup: false } as const
      return new Promise((resolve, reject) => {
        broker.publish(packet, error => (error ? reject(error) : resolve()))
      })
    },
    async push(url, deviceId, id, name, parameters) {
      const answer = await httpRequest(url, {
        method: 'POST',
        body: write(deviceId, id, name, parameters),
        headers: { 'content-type': 'application/json' },
      })
      const reading = readDeviceResponse(await answer.body.json())
      if (!reading.ok) throw new Error(reading.reason)
      arrive({ deviceId, way: 'exchange', apiKey, response: reading.value })
      return { status: answer.statusCode, response: reading.value }
    },
    launchAgain: id => void launches.set(id, (launches.get(id) ?? 0) + 1),
    cutMqtt() {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      http.closeAllConnections()
      http.close()
      tcp.close()
      await new Promise<void>(resolve => broker.close(() => resolve()))
    },
  }
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
