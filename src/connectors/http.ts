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
  return word.seen === 'accepted' ? { seen: 'answered', message: messageIn(word.body, request) } : word
}

/** The message in a 2xx answer. An answer about another operation acknowledges this one and says nothing else of it. */
function messageIn(body: string | undefined, request: OperationRequest): DeviceMessage {
  const { organization, deviceId, partition, entity } = request.device
  const reading = body === undefined ? undefined : parseDeviceResponse(body, request.id)
  const report =
    reading?.ok && reading.value.operationId === request.id
      ? reportIn(reading.value, body ?? '')
      : { operationId: request.id, steps: [] }
  return { ...report, organization, deviceId, partition, entity }
}
