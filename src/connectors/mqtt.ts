/**
 * Hands requests to devices over the broker of this process. The broker knows who is connected: to whoever is not, nothing is sent.
 * Serves: Device-side exchange flows.
 */
import { requestMessage } from '../contract/device-exchange.ts'
import type { Connector } from '../engine/connector.ts'

/** What the connector needs of the embedded broker. */
export interface RequestPublisher {
  publish(device: { readonly organization: number; readonly deviceId: string }, payload: Buffer): 'sent' | 'away'
}

/** Requests taken in one turn. */
const CAPACITY = 1_000

/** The connector over an embedded broker, which exists only once the engine does. */
export function embeddedMqttConnector(publisher: () => RequestPublisher | undefined): Connector {
  return {
    flow: 'mqtt',
    capacity: () => CAPACITY,
    send(requests, report) {
      for (const request of requests) {
        const payload = Buffer.from(JSON.stringify(requestMessage(request)))
        report(request, { seen: publisher()?.publish(request.device, payload) ?? 'away' })
      }
    },
    stop: () => Promise.resolve(),
  }
}
