/**
 * The link to an external broker, which knows who is connected and does not say: a device behind it counts as present, and a request is
 * sent once the broker has acknowledged it. It keeps nothing while the broker cannot be reached.
 */
import { deviceTopic } from '../contract/device-addresses.ts'
import type { BrokerRefusals } from './broker-refusals.ts'
import type { Handed, MqttDevice, MqttLink } from './mqtt.ts'
import type { KeptMqttClient } from './mqtt-client.ts'

export interface ExternalLinkParts {
  readonly kept: Pick<KeptMqttClient, 'live'>
  readonly refusals: BrokerRefusals
  /** whether no other organization has a device of the same id: the broker would not know which of them is meant */
  readonly isOnlyOne: (device: MqttDevice) => Promise<boolean>
}

export interface ExternalLinkSettings {
  /** requests that the broker has not acknowledged, at most */
  readonly inFlightMax?: number
  /** a connection on which a request stays unacknowledged for so long is as good as lost */
  readonly acknowledgeMs?: number
  /** bytes that the broker leaves unread before it is given no more */
  readonly unreadBytesMax?: number
}

/** What a PUBLISH takes beside its topic and its payload, at most: header, lengths, number and the time of its expiry. */
const PACKET_BYTES = 20

/** Made once: a thousand are lost together. */
const LOST = new Error('the connection is lost')

/**
 * Makes the link. However slow the broker is, a request that it was given is its own until it acknowledges or the connection is lost: given
 * again, it would reach the device twice. What was not acknowledged when the connection was lost was not sent as far as is known, and
 * neither was what the broker refused.
 */
export function externalLink(
  { kept, refusals, isOnlyOne }: ExternalLinkParts,
  { inFlightMax = 1000, acknowledgeMs = 60_000, unreadBytesMax = 1_048_576 }: ExternalLinkSettings = {},
): MqttLink {
  let inFlight = 0

  function room(): number {
    const live = kept.live()
    if (live === undefined || live.client.stream.writableLength > unreadBytesMax) return 0
    return Math.max(0, Math.min(inFlightMax, live.receiveMax) - inFlight)
  }

  function handedOf(entity: bigint, error: unknown): Handed {
    if (!error) {
      refusals.taken(entity)
      return 'sent'
    }
    const reason = reasonOf(error)
    if (reason === undefined) {
      refusals.lost(entity)
      return 'notSent'
    }
    const refused = refusals.refused(entity, reason)
    return refused === undefined ? 'notSent' : { refused }
  }

  /** Publishes, and answers what the broker says to it. */
  function publish({ deviceId, entity }: MqttDevice, payload: Buffer, expiresMs: number): Promise<Handed> | Handed {
    const live = kept.live()
    if (live === undefined || !refusals.isDue(entity)) return 'notSent'
    const topic = deviceTopic('request', deviceId)
    // Given it all the same, the broker would end the connection, over and over.
    if (PACKET_BYTES + Buffer.byteLength(topic) + payload.length > live.packetMax) {
      return { refused: `the MQTT broker takes packets of at most ${live.packetMax} bytes` }
    }
    const properties = { messageExpiryInterval: Math.max(1, Math.ceil(expiresMs / 1000)) }
    const inV5 = live.client.options.protocolVersion === 5
    const { promise, resolve } = Promise.withResolvers<Handed>()
    let isOpen = true
    const settle = (error: unknown) => {
      if (isOpen) resolve(handedOf(entity, error))
      isOpen = false
    }
    const onLost = () => settle(LOST)
    const timer = setTimeout(() => live.client.end(true), acknowledgeMs)
    live.lost.addEventListener('abort', onLost, { once: true })
    live.client.publish(topic, payload, { qos: 1, ...(inV5 && { properties }) }, settle)
    return promise.finally(() => {
      clearTimeout(timer)
      live.lost.removeEventListener('abort', onLost)
    })
  }

  return {
    capacity: room,
    isDue: ({ entity }) => refusals.isDue(entity),
    async hand(device, payload, expiresMs) {
      if (room() === 0 || !refusals.isDue(device.entity)) return 'notSent'
      inFlight += 1
      try {
        if (await isOnlyOne(device)) return await publish(device, payload, expiresMs)
        return { refused: 'another organization has a device of the same id at the MQTT broker' }
      } finally {
        inFlight -= 1
      }
    },
  }
}

/** The reason that the broker gave; undefined where the connection failed. */
function reasonOf(error: unknown): number | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'number' ? code : undefined
}
