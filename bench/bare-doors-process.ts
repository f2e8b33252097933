/**
 * The yardstick of the device flows: what the machine does where a service only exchanges the messages. `node:http`, `undici` and `aedes` as
 * they come, JSON read and written, nothing judged and nothing kept. Asked with a line, it has each device do one operation.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { Aedes, type Client } from 'aedes'
import { Client as HttpClient } from 'undici'
import { type DeviceResponseMessage, writeDeviceRequest } from '../src/contract/device.ts'
import { deviceTopic, readDeviceTopic } from '../src/contract/device-addresses.ts'
import { devicePath } from '../src/simulator/devices.ts'

const HOST = '127.0.0.1'
/** As many connections as the service has to one host. */
const CONNECTIONS = 256
const JSON_TYPE = { 'content-type': 'application/json' }

const say = (line: Record<string, unknown>) => process.stdout.write(`${JSON.stringify(line)}\n`)

let left = 0
let done = () => {}
let run = 0

function heard(message: DeviceResponseMessage): void {
  if (message.operation.response.resultCode === undefined) return
  left -= 1
  if (left === 0) done()
}

const requestOf = (deviceId: string) =>
  JSON.stringify(
    writeDeviceRequest({
      id: `${String(run).padStart(16, '0')}-00-${deviceId}`,
      name: 'REBOOT_EQUIPMENT',
      deviceId,
      parameters: {},
      form: 'typed',
      sentAt: Date.now(),
    }),
  )

/** Devices that ask for their operation, and operations for which nobody has asked yet. */
const asking = new Map<string, ServerResponse>()
const waiting = new Map<string, string>()

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const deviceId = decodeURIComponent(request.url!.split('/')[4]!)
  if (request.method === 'GET') {
    const operation = waiting.get(deviceId)
    waiting.delete(deviceId)
    if (operation !== undefined) response.writeHead(200, JSON_TYPE).end(operation)
    else
      asking.set(
        deviceId,
        response.once('close', () => asking.delete(deviceId)),
      )
    return
  }
  heard(JSON.parse(await text(request)))
  response.writeHead(200).end()
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  serve(request, response).catch(() => response.destroy())
})
const clients = new Map<string, Client>()
const aedes = await Aedes.createBroker({
  authorizePublish(_client, { topic, payload }, taken) {
    if (readDeviceTopic(topic)?.kind === 'response') heard(JSON.parse(payload.toString()))
    taken(null)
  },
})
aedes.on('clientReady', client => clients.set(client.id, client))
const broker = createTcpServer({ noDelay: true }, aedes.handle)
const listening = (each: typeof server | typeof broker) =>
  new Promise<number>(resolve => each.listen(0, HOST, 4096, () => resolve((each.address() as AddressInfo).port)))
const [httpPort, mqttPort] = await Promise.all([listening(server), listening(broker)])
say({ ready: { url: `http://${HOST}:${httpPort}`, mqtt: `mqtt://${HOST}:${mqttPort}` } })

let connections: HttpClient[] = []
const sends: Record<string, (devices: readonly string[], url: string) => Promise<void>> = {
  async pull(devices) {
    for (const id of devices) {
      const response = asking.get(id)
      if (response === undefined) waiting.set(id, requestOf(id))
      else response.writeHead(200, JSON_TYPE).end(requestOf(id))
    }
  },
  async mqtt(devices) {
    for (const id of devices) {
      const packet = { topic: deviceTopic('request', id), payload: Buffer.from(requestOf(id)), qos: 1 as const }
      clients.get(id)!.publish({ cmd: 'publish', dup: false, retain: false, ...packet }, () => {})
    }
  },
  async 'http-async'(devices, url) {
    const rest = devices.values()
    if (connections.length === 0) connections = Array.from({ length: CONNECTIONS }, () => new HttpClient(url))
    const inTurn = async (client: HttpClient) => {
      for (const id of rest) {
        const path = devicePath(id)
        const { body } = await client.request({ method: 'POST', path, headers: JSON_TYPE, body: requestOf(id) })
        heard((await body.json()) as DeviceResponseMessage)
      }
    }
    await Promise.all(connections.map(inTurn))
  },
}

const lines = createInterface({ input: process.stdin })
lines.on('line', line => {
  const { flow, devices, url } = JSON.parse(line) as { flow: string; devices: string[]; url: string }
  run += 1
  left = devices.length
  const finished = new Promise<void>(resolve => {
    done = resolve
  })
  Promise.all([sends[flow]!(devices, url), finished]).then(
    () => say({ ran: run }),
    (error: unknown) => say({ failed: String(error) }),
  )
})
lines.once('close', () => process.exit(0))
