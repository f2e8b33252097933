/**
 * The way out to devices that speak MQTT: requests are published to `odm/request/{id}` over a link to the broker, embedded or
 * external. It keeps no request for a device that is away; that is the engine's to know.
 */
import { fitsTopic } from '../contract/device-addresses.ts'
import { requestMessage } from '../contract/device-exchange.ts'
import type { Connector, DeviceAddress, OperationRequest, SendReport } from '../engine/connector.ts'

/** What becomes of one request on a link; where the broker would never take it, what it says. */
export type Handed = 'sent' | 'away' | 'notSent' | { readonly refused: string }

/** A device as a link addresses it. */
export type MqttDevice = Pick<DeviceAddress, 'deviceId' | 'entity'>

/** A way to the broker. */
export interface MqttLink {
  /** requests that could be handed over now */
  capacity(): number
  /** whether one to this device could be among them; absent: always */
  isDue?(device: MqttDevice): boolean
  /**
   * Hands a request over: `sent` once the broker has it or the device's own connection does, `away` where the broker knows that the
   * device is not there, `notSent` where the broker cannot be reached. Nothing is delivered later than `expiresMs` from now where
   * the broker can keep to that.
   */
  hand(device: MqttDevice, payload: Buffer, expiresMs: number): Promise<Handed>
}

/** Makes the MQTT connector. Serves: Device-side exchange flows (over MQTT). */
export function mqttConnector(link: MqttLink): Connector {
  const underWay = new Set<Promise<void>>()
  let stopping = false
  let stopped = false

  async function hand(request: OperationRequest): Promise<SendReport> {
    if (!fitsTopic(request.device.deviceId)) {
      return { seen: 'unreachable', description: 'the identifier of the device cannot be part of an MQTT topic' }
    }
    const payload = Buffer.from(JSON.stringify(requestMessage(request)))
    return handedReport(await link.hand(request.device, payload, request.exchangeMs))
  }

  return {
    flow: 'mqtt',
    capacity: () => (stopping ? 0 : link.capacity()),
    room() {
      let left = stopping ? 0 : link.capacity()
      return ({ device }) => link.isDue?.(device) !== false && left-- > 0
    },
    send(requests, report) {
      if (stopping) return
      for (const request of requests) {
        const handing = hand(request)
          .catch((): SendReport => ({ seen: 'notSent' }))
          .then(told => {
            underWay.delete(handing)
            if (!stopped) report(request, told)
          })
        underWay.add(handing)
      }
    },
    async stop(graceMs) {
      stopping = true
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, graceMs)
      await Promise.race([Promise.all(underWay), promise])
      clearTimeout(timer)
      stopped = true
    },
  }
}

/** What the engine is told of a request that was handed to a link. */
export function handedReport(handed: Handed): SendReport {
  return typeof handed === 'string' ? { seen: handed } : { seen: 'unreachable', description: handed.refused }
}

/** What the link needs of the embedded broker. */
interface RequestPublisher {
  publish(device: MqttDevice, payload: Buffer): 'sent' | 'away'
}

/**
 * The link to the broker of this process, which opens after the engine is built: it knows who is connected, and a request is with the
 * device or not.
 */
export function embeddedLink(broker: () => RequestPublisher | undefined, capacity = 1000): MqttLink {
  return {
    capacity: () => capacity,
    hand: async (device, payload) => broker()?.publish(device, payload) ?? 'away',
  }
}
