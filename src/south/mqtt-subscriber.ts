/**
 * What devices say through an external broker: the souths share one subscription to the topics of all devices, and acknowledge a
 * message to the broker after its commit. The broker authenticates devices and holds them to their own topics.
 */
import type { IPublishPacket, MqttClient } from 'mqtt'
import { DEVICE_TOPIC_KINDS, deviceTopicFilter, readDeviceTopic } from '../contract/device-addresses.ts'
import { mqttMessageTaker } from './mqtt-messages.ts'
import type { SouthDevice, SouthParts } from './parts.ts'

/** A connection to the broker while it lasts; `lost` aborts when it is over. */
export interface BrokerConnection {
  readonly client: MqttClient
  readonly lost: AbortSignal
}

export interface MqttSubscriberSettings {
  /**
   * Whether the souths share the messages. One that subscribes alone gets them all: from a broker that shares no subscriptions, or keeps
   * only those of its own through its restart
   */
  readonly shared?: boolean
  /** messages in hand at most */
  readonly inHandMax?: number
}

export interface MqttSubscriber {
  /** to be called for each connection before it is made: what comes is taken from the first packet on */
  onOpen(connection: BrokerConnection): void
  /** to be called when it is made: subscribes */
  onConnect(connection: BrokerConnection): void
  /** takes no more, and waits for what is in hand at most `graceMs`; the broker sends the rest again */
  stop(graceMs: number): Promise<void>
}

type IdentifyDevice = (deviceId: string) => Promise<SouthDevice | undefined>

const ALONE = DEVICE_TOPIC_KINDS.filter(kind => kind !== 'request').map(deviceTopicFilter)
const SHARED = ALONE.map(filter => `$share/drover/${filter}`)

/**
 * Makes the subscriber. `identify` finds the device that a topic names; undefined for one that is unknown or not the only one of its
 * name, whose messages are dropped and counted. Serves: decisions on MQTT devices.
 */
export function mqttSubscriber(
  parts: SouthParts,
  identify: IdentifyDevice,
  { shared = true, inHandMax = 1000 }: MqttSubscriberSettings = {},
): MqttSubscriber {
  const { count, log } = parts
  const take = mqttMessageTaker(parts)
  const inHand = new Set<Promise<void>>()
  let stopping = false

  async function takePacket(packet: IPublishPacket, lost: AbortSignal): Promise<void> {
    const topic = readDeviceTopic(packet.topic)
    if (topic === undefined || topic.kind === 'request') return count('foreign-topic')
    const { kind, deviceId } = topic
    const payload = Buffer.from(packet.payload)
    await take({ kind, deviceId, device: () => identify(deviceId), payload }, lost)
  }

  /** Takes a packet; `next` lets the following one come, which is not made to wait for the commit of this one. */
  function onPacket({ client, lost }: BrokerConnection, packet: IPublishPacket, next: (error?: Error) => void): void {
    if (stopping) return
    const { stream } = client
    const taking = takePacket(packet, lost).then(
      () => {
        if (packet.qos === 1 && !lost.aborted) stream.write(acknowledgement(packet.messageId))
      },
      (error: unknown) => {
        if (lost.aborted) return
        log.warn({ err: error }, 'a message could not be taken; the broker sends it again')
        client.end(true)
      },
    )
    const settled = taking.finally(() => {
      inHand.delete(settled)
      if (full) onRoom()
    })
    inHand.add(settled)
    const full = inHand.size >= inHandMax
    // The client acknowledges by itself what is let go without an error, and that would be before the commit.
    const onRoom = () => next(packet.qos === 1 ? LATER : undefined)
    if (!full) onRoom()
  }

  return {
    onOpen(connection) {
      connection.client.handleMessage = (packet, next) => onPacket(connection, packet, next)
    },
    onConnect({ client, lost }) {
      const onRefused = (error: unknown) => {
        if (!error || lost.aborted) return
        log.error({ err: error }, 'the broker refuses the subscription to the topics of devices')
        client.end(true)
      }
      client.subscribe(shared ? SHARED : ALONE, { qos: 1 }, onRefused)
      // The session may be of a time when it was the other way: every message would come twice.
      client.unsubscribe(shared ? ALONE : SHARED, onRefused)
    },
    async stop(graceMs) {
      stopping = true
      const { promise, resolve } = Promise.withResolvers<void>()
      const over = setTimeout(resolve, graceMs)
      await Promise.race([Promise.all(inHand), promise])
      clearTimeout(over)
    },
  }
}

const LATER = new Error('acknowledged after the commit')

/** A PUBACK as MQTT 3.1.1 and 5 write it: success has no more to it than the number of the message. */
function acknowledgement(messageId = 0): Buffer {
  return Buffer.from([0x40, 2, messageId >> 8, messageId & 255])
}
