/**
 * One MQTT 3.1.1 connection of one device, as small as ten thousand of them in one process ask for: it subscribes to one topic, publishes
 * at QoS 1 until that is acknowledged, and comes back by itself. It is no general client: no QoS 2, no will, no retained messages.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet'
import type { Pauses } from './pauses.ts'

/** A device's connection, up or trying to be. */
export interface MqttSession {
  /** Publishes at QoS 1; resolves with true once acknowledged, however often the connection breaks, with false when closed before. */
  publish(topic: string, payload: string): Promise<boolean>
  /** Asks the broker for a sign of life; a connection that gave none since the last time is cut, and made anew. */
  ping(): void
  close(): void
}

export interface MqttSessionOptions {
  /** Of the scheme `mqtt:` or `mqtts:`. */
  broker: URL
  /** Client id and user name alike. */
  deviceId: string
  password: string
  /** Subscribed to at QoS 1. */
  topic: string
  keepaliveS: number
  pauses: Pauses
  /** Numbers from 0 to 1, for the pauses between attempts. */
  random: () => number
  /** Called when the subscription is granted, and when the connection is lost after that. */
  onUp(): void
  onDown(): void
  onMessage(payload: string | Uint8Array): void
}

const HANDSHAKE_TIMEOUT_MS = 30_000
const GOODBYE_TIMEOUT_MS = 1000
const RECONNECT_FIRST_MS = 500
const RECONNECT_LONGEST_MS = 10_000
const MESSAGE_IDS = 65_535
const SUBSCRIBE_ID = MESSAGE_IDS
const SUBSCRIPTION_REFUSED = 0x80

interface Unacknowledged {
  packet: IPublishPacket
  settle: (delivered: boolean) => void
}

/** Opens a connection and keeps it open until it is closed or the fleet stops; never throws. */
export function openMqttSession(options: MqttSessionOptions): MqttSession {
  const { broker, deviceId, password, topic, keepaliveS, pauses, random } = options
  const unacknowledged = new Map<number, Unacknowledged>()
  let socket: Socket | undefined
  let isConnected = false
  let isUp = false
  let isAlive = true
  let isClosed = false
  let failures = 0
  let lastId = 0

  function open(): void {
    const incoming = parser()
    const opened = openSocket(broker)
    socket = opened
    isAlive = true
    incoming.on('packet', take)
    incoming.on('error', () => opened.destroy())
    opened.setTimeout(HANDSHAKE_TIMEOUT_MS, () => opened.destroy())
    opened.on('data', data => incoming.parse(data))
    // Whatever went wrong, the connection closes next, and there it is dealt with.
    opened.on('error', () => undefined)
    opened.on('close', () => void reopen())
    send({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      clientId: deviceId,
      username: deviceId,
      password: Buffer.from(password),
      keepalive: keepaliveS,
    })
  }

  function goUp(): void {
    socket?.setTimeout(0)
    failures = 0
    isUp = true
    options.onUp()
  }

  function goDown(): void {
    if (isUp) options.onDown()
    isConnected = false
    isUp = false
  }

  async function reopen(): Promise<void> {
    goDown()
    if (isClosed) return
    const pauseMs = Math.min(RECONNECT_FIRST_MS * 2 ** Math.min(failures++, 10), RECONNECT_LONGEST_MS)
    if ((await pauses.pause(pauseMs * (0.5 + random()))) && !isClosed) open()
  }

  function take(packet: Packet): void {
    if (isClosed) return
    isAlive = true
    switch (packet.cmd) {
      case 'connack':
        // Not yet provisioned, or the service is just starting: a device that is refused tries again.
        if (packet.returnCode !== 0) socket?.destroy()
        else beginSession()
        return
      case 'suback':
        if (packet.granted[0] === SUBSCRIPTION_REFUSED) socket?.destroy()
        else goUp()
        return
      case 'puback':
        settle(packet.messageId ?? 0, true)
        return
      case 'publish':
        if (packet.qos > 0) send({ cmd: 'puback', messageId: packet.messageId ?? 0 })
        options.onMessage(packet.payload)
    }
  }

  function beginSession(): void {
    isConnected = true
    send({ cmd: 'subscribe', messageId: SUBSCRIBE_ID, subscriptions: [{ topic, qos: 1 }] })
    for (const { packet } of unacknowledged.values()) publishNow(packet)
  }

  function publishNow(packet: IPublishPacket): void {
    send(packet)
    packet.dup = true
  }

  function settle(messageId: number, delivered: boolean): void {
    const waiting = unacknowledged.get(messageId)
    unacknowledged.delete(messageId)
    waiting?.settle(delivered)
  }

  function send(packet: Packet): void {
    if (!socket?.writable) return
    // What is said in one go leaves in one go: the acknowledgement of a request, and the first answer to it.
    if (socket.writableCorked === 0) {
      socket.cork()
      queueMicrotask(uncork.bind(undefined, socket))
    }
    socket.write(generate(packet))
  }

  function nextId(): number {
    do lastId = (lastId % (SUBSCRIBE_ID - 1)) + 1
    while (unacknowledged.has(lastId))
    return lastId
  }

  open()
  return {
    publish(topic, payload) {
      if (isClosed || unacknowledged.size >= SUBSCRIBE_ID - 1) return Promise.resolve(false)
      const messageId = nextId()
      const packet: IPublishPacket = { cmd: 'publish', topic, payload, qos: 1, messageId, dup: false, retain: false }
      return new Promise(settle => {
        unacknowledged.set(messageId, { packet, settle })
        if (isConnected) publishNow(packet)
      })
    },
    ping() {
      if (!isUp) return
      if (!isAlive) socket?.destroy()
      isAlive = false
      send({ cmd: 'pingreq' })
    },
    close() {
      isClosed = true
      for (const messageId of [...unacknowledged.keys()]) settle(messageId, false)
      if (!isConnected) socket?.destroy()
      send({ cmd: 'disconnect' })
      socket?.setTimeout(GOODBYE_TIMEOUT_MS)
      socket?.destroySoon()
      goDown()
    },
  }
}

function uncork(socket: Socket): void {
  socket.uncork()
}

function openSocket(broker: URL): Socket {
  const secure = broker.protocol === 'mqtts:'
  const host = broker.hostname.replace(/^\[|\]$/g, '')
  const port = Number(broker.port || (secure ? 8883 : 1883))
  return secure ? connectTls({ host, port, servername: host }) : connectTcp({ host, port, noDelay: true })
}
