/**
 * The way out to devices that listen on HTTP: an operation is posted to the device, and what comes back is reported. It decides
 * nothing about an operation, and leaves connections to the shares of hosts.
 */
import { parseDeviceResponse } from '../contract/device.ts'
import { reportIn, requestMessage } from '../contract/device-exchange.ts'
import type { Connector, DeviceMessage, OperationRequest, SendReport } from '../engine/connector.ts'
import { DEVICE_URL_TEMPLATE, deviceUrl } from './device-url.ts'
import type { HttpWord } from './http-exchange.ts'
import type { HttpHosts, OwnedRequest } from './http-hosts.ts'

/** Makes the HTTP connector. Serves: Device-side exchange flows (platform-driven). */
export function httpConnector(hosts: HttpHosts, urlTemplate = DEVICE_URL_TEMPLATE): Connector {
  return {
    flow: 'http',
    capacity: hosts.capacity,
    room() {
      const hasRoom = hosts.room()
      return ({ key, device }) => {
        const target = deviceUrl(device, urlTemplate)
        // What cannot be sent at all takes no room.
        return 'fault' in target || hasRoom({ organization: device.organization, job: key.job }, target.url)
      }
    },
    send(requests, report) {
      for (const request of requests) {
        const target = deviceUrl(request.device, urlTemplate)
        if ('fault' in target) {
          queueMicrotask(() => report(request, { seen: 'unreachable', description: target.fault }))
          continue
        }
        hosts.send(pushOf(request, target.url), word => report(request, reportOf(word, request)))
      }
    },
    // Also what connector functions send: the hosts are shared.
    held: hosts.held,
    release: hosts.release,
    stop: hosts.stop,
  }
}

function pushOf(request: OperationRequest, url: URL): OwnedRequest {
  const { apiKey, organization } = request.device
  return {
    url,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(apiKey !== undefined && { 'x-apikey': apiKey }),
    },
    body: JSON.stringify(requestMessage(request)),
    exchangeMs: request.exchangeMs,
    owner: { organization, job: request.key.job },
    launch: request,
  }
}

function reportOf(word: HttpWord, request: OperationRequest): SendReport {
  return word.seen === 'accepted' ? { seen: 'answered', message: messageIn(word, request) } : word
}

/** The message in a 2xx answer. One that was meant as such but cannot be read, or is about another operation, acknowledges this one and says why it does no more. */
function messageIn({ body = '', fault }: Pick<Accepted, 'body' | 'fault'>, request: OperationRequest): DeviceMessage {
  const { organization, deviceId, partition, entity } = request.device
  const device = { organization, deviceId, partition, entity }
  const acknowledgement = { operationId: request.id, steps: [], ...device }
  const because = (reason: string) => ({ ...acknowledgement, resultDescription: `${ONLY_ACKNOWLEDGED}: ${reason}` })
  if (fault !== undefined) return because(fault)
  // Many devices answer a word or a page of their web server, which was never meant as a message.
  if (!body.trimStart().startsWith('{')) return acknowledgement
  const reading = parseDeviceResponse(body, request.id)
  if (!reading.ok) return because(`${reading.field} ${reading.reason}`.trim())
  if (reading.value.operationId !== request.id) return because('it is about another operation')
  return { ...reportIn(reading.value, body), ...device }
}

type Accepted = Extract<HttpWord, { seen: 'accepted' }>

const ONLY_ACKNOWLEDGED = "the device's answer was taken as an acknowledgement"
