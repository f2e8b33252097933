/**
 * The link to an external broker, which knows who is connected and does not say: a device behind it counts as present, and a request is
 * sent once the broker has acknowledged it. It keeps nothing while the broker cannot be reached.
 */
import { deviceTopic } from '../contract/device-addresses.ts'
import type { Handed, MqttLink } from './mqtt.ts'
import type { KeptMqttClient } from './mqtt-client.ts'

/** Makes the link. A request that the broker does not acknowledge within `acknowledgeMs` was not sent as far as is known. */
export function externalLink(kept: Pick<KeptMqttClient, 'live'>, inFlightMax = 1000, acknowledgeMs = 2000): MqttLink {
  let inFlight = 0
  const room = () => Math.min(inFlightMax, kept.live()?.receiveMax ?? 0) - inFlight

  return {
    capacity: () => Math.max(0, room()),
    hand({ deviceId }, payload, expiresMs) {
      const live = kept.live()
      if (live === undefined || room() <= 0) return Promise.resolve('notSent')
      const properties = { messageExpiryInterval: Math.max(1, Math.ceil(expiresMs / 1000)) }
      const inV5 = live.client.options.protocolVersion === 5
      const { promise, resolve } = Promise.withResolvers<Handed>()
      const giveUp = () => resolve('notSent')
      const timer = setTimeout(giveUp, acknowledgeMs)
      live.lost.addEventListener('abort', giveUp, { once: true })
      inFlight += 1
      live.client.publish(deviceTopic('request', deviceId), payload, { qos: 1, ...(inV5 && { properties }) }, error =>
        resolve(error ? 'notSent' : 'sent'),
      )
      return promise.finally(() => {
        inFlight -= 1
        clearTimeout(timer)
        live.lost.removeEventListener('abort', giveUp)
      })
    },
  }
}
