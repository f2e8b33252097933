/**
 * The way out to devices that speak a language of their own: a function of their organization turns an operation into an HTTP request,
 * an MQTT payload or a result, and the device's answer into a response. It sends; the function only says what.
 */
import { type DeviceResponse, readDeviceResponse } from '../contract/device.ts'
import { reportIn } from '../contract/device-exchange.ts'
import { type FunctionHttp, readFunctionRequest, readFunctionResponses } from '../contract/function-answer.ts'
import { parseDeviceJson } from '../contract/reading.ts'
import type { FunctionCall, FunctionOutcome } from '../domain/connector-function.ts'
import { KEPT_MESSAGE_CHARACTERS_MAX } from '../domain/kept-message.ts'
import { type PlaceOwner, sharedPlaces } from '../domain/places.ts'
import { cutText } from '../domain/storable.ts'
import type { Connector, DeviceMessage, OperationRequest, SendReport } from '../engine/connector.ts'
import { DEVICE_URL_TEMPLATE, deviceUrl } from './device-url.ts'
import type { HttpWord } from './http-exchange.ts'
import type { HttpHosts, OwnedRequest } from './http-hosts.ts'
import { handedReport, type MqttLink } from './mqtt.ts'

export interface FunctionConnectorParts {
  /** the way to devices */
  readonly hosts: HttpHosts
  /** the way to what functions name themselves, under rules of its own: whoever writes one must not reach what only this host may */
  readonly namedHosts: HttpHosts
  readonly link: MqttLink
  /** runs a call in the interpreter, or not at all where it cannot begin in time; never rejects */
  readonly run: (organization: number, call: FunctionCall, beginMs?: number) => Promise<FunctionOutcome>
  /** the source of a function as it is now; undefined where there is none of that name */
  readonly sourceOf: (organization: number, name: string) => Promise<string | undefined>
  readonly urlTemplate?: string
  /** requests that are being prepared at once */
  readonly underWayMax?: number
  /** a request that its function has not made within this is not sent: the job may be closed since, or another node have the request */
  readonly prepareMs?: number
}

type Tell = (report: SendReport) => void

/** Makes the connector. Serves: What the service does (5). */
export function functionConnector(parts: FunctionConnectorParts): Connector {
  const {
    hosts,
    namedHosts,
    link,
    run,
    sourceOf,
    urlTemplate = DEVICE_URL_TEMPLATE,
    underWayMax = 500,
    prepareMs = 2_000,
  } = parts
  const underWay = new Set<Promise<void>>()
  const places = sharedPlaces(underWayMax)
  let stopping = false
  let stopped = false

  async function begin(request: OperationRequest, tell: Tell): Promise<void> {
    const { organization, functionName = '' } = request.device
    const leftMs = timeLeft(prepareMs)
    const source = await sourceOf(organization, functionName)
    if (source === undefined) {
      return tell({ seen: 'deviceRefused', description: `there is no connector function ${functionName}` })
    }
    const outcome = await run(organization, { source, part: 'request', arguments: argumentsOf(request) }, leftMs())
    if (!outcome.ok) {
      if (outcome.fault === 'busy') return tell({ seen: 'notSent' })
      return tell(failed(functionName, outcome.description))
    }
    const reading = readFunctionRequest(outcome.value, request.id)
    if (!reading.ok) return tell(failed(functionName, unusable(reading)))
    const asked = reading.value
    if (asked.way === 'result') return tell({ seen: 'answered', message: messageOf([asked.response], request) })
    if (leftMs() < 0) return tell({ seen: 'notSent' })
    if (asked.way === 'http') return sendHttp(request, source, asked.http, tell)
    const report = handedReport(await link.hand(request.device, Buffer.from(asked.payload), request.exchangeMs))
    tell(report.seen === 'sent' || report.seen === 'away' ? { ...report, over: 'mqtt' } : report)
  }

  function sendHttp(request: OperationRequest, source: string, http: FunctionHttp, tell: Tell): void {
    const { device, exchangeMs } = request
    const target = deviceUrl(http.url === undefined ? device : { ...device, url: http.url }, urlTemplate)
    if ('fault' in target) {
      tell({ seen: 'unreachable', description: target.fault })
      return
    }
    const { method, body, headers } = http
    // The key of the device goes to where the device is, and nowhere that a function names.
    const key = http.url === undefined && device.apiKey !== undefined ? { 'x-apikey': device.apiKey } : {}
    const owner = ownerOf(request)
    const outgoing: OwnedRequest = {
      url: target.url,
      method,
      body,
      headers: { ...key, ...headers },
      exchangeMs,
      owner,
      launch: request,
    }
    const way = http.url === undefined ? hosts : namedHosts
    way.send(outgoing, word => {
      if (word.seen !== 'accepted') tell(word)
      else track(answered(request, source, word).then(message => tell({ seen: 'answered', message })))
    })
  }

  /**
   * What the device answered, by the function where it reads answers. What cannot be read acknowledges: the device took the request.
   * Where that is the function's doing, the acknowledgement says so.
   */
  async function answered(
    request: OperationRequest,
    source: string,
    { status, body = '' }: HttpWord & { seen: 'accepted' },
  ): Promise<DeviceMessage> {
    const { organization, functionName = '' } = request.device
    const parsed = parseDeviceJson(body)
    const said = { via: 'http', operationId: request.id, status, body, ...(parsed.ok && { json: parsed.value }) }
    const outcome = await run(organization, { source, part: 'response', arguments: [said, deviceOf(request)] })
    if (outcome.ok) {
      const responses = readFunctionResponses(outcome.value, request.id)
      if (responses.ok) return messageOf(responses.value, request)
      return unread(request, body, faultOf(functionName, unusable(responses)))
    }
    if (outcome.fault !== 'missing') return unread(request, body, faultOf(functionName, outcome.description))
    const response = parsed.ok ? readDeviceResponse(parsed.value, request.id) : undefined
    return messageOf(response?.ok ? [response.value] : [], request)
  }

  function track(work: Promise<void>): void {
    underWay.add(work)
    work.finally(() => underWay.delete(work)).catch(() => {})
  }

  return {
    flow: 'function',
    capacity: () => (stopping ? 0 : places.free()),
    room() {
      const [mayPrepare, maySend] = [places.trial(), hosts.room()]
      return request => mayPrepare(ownerOf(request)) && maySend(ownerOf(request))
    },
    send(requests, report) {
      for (const request of requests) {
        const tell = (told: SendReport) => {
          if (!stopped) report(request, told)
        }
        const owner = ownerOf(request)
        if (stopping || !places.take(owner)) {
          tell({ seen: 'notSent' })
          continue
        }
        const prepared = begin(request, tell).catch(() => tell({ seen: 'notSent' }))
        track(prepared.finally(() => places.leave(owner)))
      }
    },
    held: namedHosts.held,
    release: namedHosts.release,
    async stop(graceMs) {
      stopping = true
      const { promise, resolve } = Promise.withResolvers<void>()
      const over = setTimeout(resolve, graceMs)
      await Promise.race([Promise.all([...underWay, namedHosts.stop(graceMs)]), promise])
      clearTimeout(over)
      stopped = true
    },
  }
}

/** How much of a time that begins now is left, ms; it passes while the process stands still, too. */
function timeLeft(ms: number): () => number {
  const endsAt = performance.now() + ms
  return () => endsAt - performance.now()
}

function ownerOf({ key, device }: Pick<OperationRequest, 'key' | 'device'>): PlaceOwner {
  return { organization: device.organization, job: key.job }
}

function argumentsOf(request: OperationRequest): readonly unknown[] {
  const { id, name, parameters, launchedAt: timestamp, entityId } = request
  return [{ id, name, parameters, timestamp, ...(entityId !== undefined && { entityId }) }, deviceOf(request)]
}

function deviceOf({ device: { deviceId: id, url, address } }: OperationRequest) {
  return { id, ...(url !== undefined && { url }), ...(address !== undefined && { address }) }
}

function failed(name: string, description: string): SendReport {
  return { seen: 'deviceFailed', description: faultOf(name, description) }
}

function faultOf(name: string, description: string): string {
  return cutText(`connector function ${name}: ${description}`, 1000)
}

function unusable({ field, reason }: { readonly field: string; readonly reason: string }): string {
  return `what it gives: ${`${field} ${reason}`.trim()}`
}

/** An acknowledgement in words that nobody could read: they stay where people can. */
function unread(request: OperationRequest, body: string, resultDescription: string): DeviceMessage {
  const raw = cutText(body, KEPT_MESSAGE_CHARACTERS_MAX)
  return { ...messageOf([], request), resultDescription, ...(raw !== '' && { raw, saysMore: true }) }
}

/** One message of the responses that are about the operation: all their steps, and the last result. */
function messageOf(responses: readonly DeviceResponse[], request: OperationRequest): DeviceMessage {
  const { organization, deviceId, partition, entity } = request.device
  const own = responses.filter(({ operationId }) => operationId === request.id)
  const reports = own.map(response => reportIn(response, JSON.stringify(response.message)))
  const steps = reports.flatMap(report => report.steps)
  return { operationId: request.id, ...Object.assign({}, ...reports), steps, organization, deviceId, partition, entity }
}
