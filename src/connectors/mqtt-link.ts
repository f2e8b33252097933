/**
 * The link to an external broker, which knows who is connected and does not say: a device behind it counts as present, and a request is
 * sent once the broker has acknowledged it. It keeps nothing while the broker cannot be reached.
 */
import { deviceTopic } from '../contract/device-addresses.ts'
import type { Handed, MqttLink } from './mqtt.ts'
import type { KeptMqttClient } from './mqtt-client.ts'

export interface ExternalLinkSettings {
  /** requests that the broker has not acknowledged, at most */
  readonly inFlightMax?: number
  /** a connection on which a request stays unacknowledged for so long is as good as lost */
  readonly acknowledgeMs?: number
  /** bytes that the broker leaves unread before it is given no more */
  readonly unreadBytesMax?: number
}

/**
 * Makes the link. However slow the broker is, a request that it was given is its own until it acknowledges or the connection is lost: given
 * again, it would reach the device twice. What was not acknowledged when the connection was lost was not sent as far as is known.
 */
export function externalLink(
  kept: Pick<KeptMqttClient, 'live'>,
  { inFlightMax = 1000, acknowledgeMs = 60_000, unreadBytesMax = 1_048_576 }: ExternalLinkSettings = {},
): MqttLink {
  let inFlight = 0

  function room(): number {
    const live = kept.live()
    if (live === undefined || live.client.stream.writableLength > unreadBytesMax) return 0
    return Math.max(0, Math.min(inFlightMax, live.receiveMax) - inFlight)
  }

  return {
    capacity: room,
    hand({ deviceId }, payload, expiresMs) {
      const live = kept.live()
      if (live === undefined || room() === 0) return Promise.resolve('notSent')
      const properties = { messageExpiryInterval: Math.max(1, Math.ceil(expiresMs / 1000)) }
      const inV5 = live.client.options.protocolVersion === 5
      const { promise, resolve } = Promise.withResolvers<Handed>()
      const onLost = () => resolve('notSent')
      const timer = setTimeout(() => live.client.end(true), acknowledgeMs)
      live.lost.addEventListener('abort', onLost, { once: true })
      inFlight += 1
      live.client.publish(deviceTopic('request', deviceId), payload, { qos: 1, ...(inV5 && { properties }) }, error =>
        resolve(error ? 'notSent' : 'sent'),
      )
      return promise.finally(() => {
        inFlight -= 1
        clearTimeout(timer)
        live.lost.removeEventListener('abort', onLost)
      })
    },
  }
}
