/**
 * The embedded MQTT broker: devices connect, are known by their key, and speak on their own topics with the service, never with each
 * other. A message is acknowledged after its commit. It keeps no message for a device that is away.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { Aedes, type AedesPublishPacket, type AuthenticateError, type Client } from 'aedes'
import { deviceTopic, fitsTopic, readDeviceTopic } from '../contract/device-addresses.ts'
import { type MqttConnection, mqttConnections } from './mqtt-connections.ts'
import { type FrameBounds, frameJudge } from './mqtt-frames.ts'
import { mqttMessageTaker } from './mqtt-messages.ts'
import { connectionClientId, mqttSessions } from './mqtt-sessions.ts'
import type { SouthParts } from './parts.ts'

export interface MqttBrokerSettings {
  readonly host: string
  /** 0 takes a free one */
  readonly port: number
  /** PEM texts; with them the broker speaks TLS only */
  readonly tls?: { readonly key: string; readonly cert: string }
  readonly connectionsMax?: number
  /** bytes; `firstMax` bounds the CONNECT packet, and where nothing is said, a message of a device just fits into the others */
  readonly packets?: FrameBounds
  /** a device that leaves more bytes unread is disconnected */
  readonly unreadBytesMax?: number
  /** from the connection to its CONNECT packet */
  readonly connectMs?: number
  /** how often the key of every connection is judged again: it may have been ended on another node */
  readonly recheckMs?: number
  /** tells the connections of this process from those of another; part of every connection's name */
  readonly node: string
}

export interface MqttBroker {
  readonly port: number
  /** devices connected now, known or not yet */
  connections(): number
  /** hands a request to a device over the last of its connections that has subscribed to its topic */
  publish(device: { readonly entity: bigint }, payload: Buffer): 'sent' | 'away'
  /** ends all connections of devices: their keys were replaced or revoked, or they are gone */
  disconnect(devices: readonly { readonly entity: bigint }[]): void
  /** takes no more, waits for what is in hand at most `graceMs`, then ends every connection and records that */
  stop(graceMs: number): Promise<void>
}

/** MQTT's words for a refused CONNECT. */
const SERVER_UNAVAILABLE = 3
const BAD_CREDENTIALS = 4

/** What a packet holds beside a message: its topic, with an id of 256 characters, and its number. */
const PACKET_REST_BYTES = 1_024

/** Opens the broker. Serves: decisions on MQTT devices. */
export async function openMqttBroker(parts: SouthParts, settings: MqttBrokerSettings): Promise<MqttBroker> {
  const { access, count, log } = parts
  const {
    host,
    tls,
    connectionsMax = 20_000,
    packets = { firstMax: 16_384, max: parts.bodyBytesMax + PACKET_REST_BYTES },
    unreadBytesMax = 1_048_576,
    connectMs = 10_000,
    recheckMs = 60_000,
  } = settings
  const take = mqttMessageTaker(parts)
  const connections = mqttConnections(parts)
  const of = new WeakMap<object, MqttConnection>()
  const clients = new Map<MqttConnection, Client>()
  const sockets = new Set<Socket>()
  const inHand = new Set<Promise<void>>()
  let numbered = 0
  let stopping = false

  const aedes = new Aedes({
    connectTimeout: connectMs,
    persistence: mqttSessions((client, topic) => of.get(client)?.requestTopic === topic),
    maxInflightInbound: 100,
    maxTopicLevels: 8,

    preConnect(_client, packet, done) {
      // Presence is known from the connection itself; a will would be a message that nobody sent.
      delete packet.will
      done(null, !stopping)
    },

    authenticate(client, username, password, done) {
      const deviceId = username ?? ''
      admit(client, deviceId, password?.toString() ?? '').then(
        admitted => {
          if (admitted) return done(null, true)
          count('unauthorized')
          done(connectRefusal(BAD_CREDENTIALS, 'bad user name or password'), false)
        },
        (error: unknown) => {
          log.warn({ err: error }, 'a device could not be authenticated')
          done(connectRefusal(SERVER_UNAVAILABLE, 'server unavailable'), false)
        },
      )
    },

    authorizeSubscribe(client, subscription, done) {
      if (subscription.topic === of.get(client)?.requestTopic) return done(null, subscription)
      count('foreign-topic')
      done(null, null)
    },

    authorizePublish(client, packet, done) {
      const connection = client === null ? undefined : of.get(client)
      const topic = readDeviceTopic(packet.topic)
      packet.retain = false
      if (connection === undefined || stopping) return done(new Error('no message is taken any more'))
      const { device, name, ended } = connection
      if (topic === undefined || topic.kind === 'request' || topic.deviceId !== device.deviceId) {
        count('foreign-topic')
        return done(null)
      }
      const payload = Buffer.from(packet.payload)
      const reachable = connections.isReachable(connection)
      const { kind, deviceId } = topic
      const message = { kind, deviceId, device: async () => device, connection: { name, reachable }, payload }
      const taking = take(message, ended.signal)
      const settled = taking.then(
        () => done(null),
        () => done(new Error('the message was not taken')),
      )
      inHand.add(settled)
      settled.finally(() => inHand.delete(settled)).catch(() => {})
    },

    // What one device publishes never reaches another.
    authorizeForward: (_client, packet: AedesPublishPacket) => ('clientId' in packet ? null : packet),
  })
  // A message that gets as far as routing has been taken, and nobody subscribes to it: looking for them cost as much as taking it.
  Object.assign(aedes, {
    publish(_packet: unknown, ...[client, done = client]: [unknown?, unknown?]) {
      if (typeof done === 'function') done()
    },
  })
  await aedes.listen()

  async function admit(client: Client, deviceId: string, key: string): Promise<boolean> {
    if (key === '' || !fitsTopic(deviceId)) return false
    const device = await access.authenticate(deviceId, key)
    if (device === undefined || client.closed || stopping) return false
    numbered += 1
    const session = `${device.organization}/${deviceId}/${client.id}`
    const connection: MqttConnection = {
      name: `${settings.node}:${numbered}`,
      session,
      device,
      requestTopic: deviceTopic('request', deviceId),
      isStillGood: async () => (await access.authenticate(deviceId, key))?.entity === device.entity,
      ended: new AbortController(),
      close: () => client.close(),
    }
    client.id = connectionClientId(numbered, session)
    of.set(client, connection)
    clients.set(connection, client)
    connections.admit(connection)
    return true
  }

  aedes.on('subscribe', (subscriptions, client) => {
    const connection = of.get(client)
    const own = subscriptions.some(({ topic, qos }) => topic === connection?.requestTopic && qos < 128)
    if (connection && own) connections.reach(connection)
  })
  aedes.on('clientReady', client => {
    const connection = of.get(client)
    // A session that is taken up again has its subscription without asking for it.
    if (connection && isSubscribed(client, connection)) connections.reach(connection)
  })
  aedes.on('unsubscribe', (topics, client) => {
    const connection = of.get(client)
    if (connection && !client.closed && topics.includes(connection.requestTopic)) connections.lose(connection)
  })
  aedes.on('clientError', (client, error) => log.debug({ err: error, client: client.id }, 'an MQTT connection failed'))
  aedes.on('connectionError', (_client, error) => log.debug({ err: error }, 'an MQTT connection failed'))

  function accept(socket: Socket): void {
    socket.setNoDelay(true)
    // A device that sends no keepalive would otherwise be there for ever.
    socket.setKeepAlive(true, 60_000)
    const judge = frameJudge(packets)
    const read = socket.read.bind(socket)
    socket.read = size => {
      const chunk = read(size)
      if (chunk === null || judge(chunk)) return chunk
      count('broken-packet')
      socket.destroy(new Error('an MQTT packet is longer than allowed'))
      return null
    }
    const client = aedes.handle(socket)
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      const connection = of.get(client)
      if (connection === undefined) return
      clients.delete(connection)
      connections.end(connection)
    })
  }

  const rechecking = setInterval(() => {
    connections
      .recheck()
      .catch((error: unknown) => log.warn({ err: error }, 'the keys of devices were not judged again'))
  }, recheckMs)

  const server: Server = tls
    ? createTlsServer({ ...tls, handshakeTimeout: connectMs }, accept)
    : createServer({ pauseOnConnect: false }, accept)
  server.maxConnections = connectionsMax
  server.on('drop', () => count('too-many-connections'))
  server.on('tlsClientError', error => log.debug({ err: error }, 'a TLS handshake failed'))
  server.listen({ host, port: settings.port, backlog: 4096 })
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    connections: () => aedes.connectedClients,
    publish({ entity }, payload) {
      const connection = connections.lastReachable(entity)
      const client = connection && clients.get(connection)
      if (!connection || !client || client.closed) return 'away'
      if (client.conn.writableLength > unreadBytesMax) {
        client.close()
        return 'away'
      }
      const { requestTopic: topic } = connection
      client.publish({ cmd: 'publish', topic, payload, qos: 1, dup: false, retain: false }, () => {})
      return 'sent'
    },
    disconnect(devices) {
      for (const { entity } of devices) connections.closeAll(entity)
    },
    async stop(graceMs) {
      stopping = true
      clearInterval(rechecking)
      const closed = new Promise(resolve => server.close(resolve))
      await within(Promise.all(inHand), graceMs)
      await new Promise<void>(resolve => aedes.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
      await connections.settled(AbortSignal.timeout(graceMs))
    },
  }
}

function connectRefusal(returnCode: number, message: string): AuthenticateError {
  return Object.assign(new Error(message), { returnCode })
}

function isSubscribed(client: Client, { requestTopic }: MqttConnection): boolean {
  return 'subscriptions' in client && Object.hasOwn(client.subscriptions as object, requestTopic)
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work, promise])
  clearTimeout(timer)
}
