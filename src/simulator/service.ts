/**
 * The device interface of the service as a device sees it over HTTP: post a response until it is taken, ask for the next operation.
 * Connections are kept alive and shared by the whole fleet.
 */
import { Client, type Dispatcher } from 'undici'
import { type DeviceRequest, type DeviceResponseMessage, readDeviceRequest } from '../contract/device.ts'
import { pendingPath, responsePath } from '../contract/device-addresses.ts'
import { parseJson } from '../contract/reading.ts'
import type { Delivery } from './device-run.ts'
import type { FleetOptions } from './options.ts'
import type { Pauses } from './pauses.ts'
import { randomOf } from './random.ts'

/** The answer to a device that asked what there is to do; `retryMs` says how long to leave the service alone. */
export type Pending =
  | { what: 'request'; request: DeviceRequest }
  | { what: 'nothing' }
  | { what: 'unreadable' }
  | { what: 'refused' | 'away'; retryMs?: number }

/** The service, for one fleet. */
export interface Service {
  /** Posts a response, again and again while the service is away or busy. Never rejects. */
  post(deviceId: string, message: DeviceResponseMessage): Promise<Delivery>
  /** Asks for one operation, letting the service hold the question for `waitS` seconds. Never rejects. */
  ask(deviceId: string, waitS: number): Promise<Pending>
  /** Ends what is under way. */
  close(): Promise<void>
}

const ANSWER_TIMEOUT_MS = 30_000
const RETRY_FIRST_MS = 200
const RETRY_LONGEST_MS = 10_000
const BODY_BYTES_MAX = 1_000_000

/** Makes ready; no connection is made before it is needed. */
export function openService(
  options: Pick<
    FleetOptions,
    'url' | 'apiKey' | 'postConnections' | 'pullConcurrency' | 'pullWaitS' | 'deliverForMs' | 'seed'
  >,
  pauses: Pauses,
): Service {
  const { origin, pathname } = new URL(options.url)
  const base = pathname.replace(/\/$/, '')
  const headers = { 'x-apikey': options.apiKey, 'content-type': 'application/json' }
  const posting = openConnections(origin, options.postConnections, ANSWER_TIMEOUT_MS)
  const pulling = openConnections(origin, options.pullConcurrency, options.pullWaitS * 1000 + ANSWER_TIMEOUT_MS)
  const random = randomOf(options.seed, 'service')

  return {
    async post(deviceId, message) {
      const request: Dispatcher.DispatchOptions = {
        method: 'POST',
        path: `${base}${responsePath(deviceId)}`,
        headers,
        body: JSON.stringify(message),
      }
      const giveUpAt = performance.now() + options.deliverForMs
      for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_LONGEST_MS)) {
        const { statusCode, retryMs } = await posting.call(request)
        if (statusCode >= 200 && statusCode < 300) return 'delivered'
        if (isFinalRefusal(statusCode)) return 'refused'
        if (performance.now() > giveUpAt) return 'undelivered'
        if (!(await pauses.pause((retryMs ?? pauseMs) * (0.5 + random())))) return 'undelivered'
      }
    },

    async ask(deviceId, waitS) {
      const request: Dispatcher.DispatchOptions = {
        method: 'GET',
        path: `${base}${pendingPath(deviceId, waitS)}`,
        headers,
      }
      const { statusCode, retryMs, text } = await pulling.call(request)
      if (statusCode === 204) return { what: 'nothing' }
      if (statusCode !== 200)
        return { what: isFinalRefusal(statusCode) ? 'refused' : 'away', ...(retryMs === undefined ? {} : { retryMs }) }
      const parsed = parseJson(text)
      const reading = parsed.ok ? readDeviceRequest(parsed.value) : parsed
      return reading.ok ? { what: 'request', request: reading.value } : { what: 'unreadable' }
    },

    async close() {
      await Promise.all([posting.close(), pulling.close()])
    },
  }
}

interface Answer {
  /** 0 when there was no answer at all. */
  statusCode: number
  retryMs?: number | undefined
  text: string
}

interface Connections {
  call(request: Dispatcher.DispatchOptions): Promise<Answer>
  close(): Promise<unknown>
}

/**
 * At most so many connections, one exchange at a time on each. undici's own pool looks through all of them for a free one at each
 * request: with thousands that cost more than the requests.
 */
function openConnections(origin: string, most: number, headersTimeout: number): Connections {
  const all: Client[] = []
  const free: Client[] = []
  const waiting: ((client: Client) => void)[] = []

  function open(): Client {
    const client = new Client(origin, {
      headersTimeout,
      bodyTimeout: ANSWER_TIMEOUT_MS,
      connect: { timeout: ANSWER_TIMEOUT_MS },
    })
    all.push(client)
    return client
  }

  const take = () => free.pop() ?? (all.length < most ? open() : new Promise<Client>(resolve => waiting.push(resolve)))

  return {
    async call(request) {
      const client = await take()
      const answer = await exchange(client, request)
      const next = waiting.shift()
      if (next) next(client)
      else free.push(client)
      return answer
    },
    close: () => Promise.all(all.map(client => client.destroy())),
  }
}

/** One exchange, without the streams that `Client.request` makes for each: a fleet makes tens of thousands in a few seconds. */
function exchange(client: Client, request: Dispatcher.DispatchOptions): Promise<Answer> {
  return new Promise(resolve => {
    const answer: Answer = { statusCode: 0, text: '' }
    const chunks: Buffer[] = []
    let bytes = 0
    client.dispatch(request, {
      // Its presence tells undici which of its two handler interfaces this is.
      onRequestStart() {},
      onResponseStart(_, statusCode, headers) {
        answer.statusCode = statusCode
        answer.retryMs = retryAfterMs(headers['retry-after'])
      },
      onResponseData(controller, chunk) {
        bytes += chunk.length
        if (bytes > BODY_BYTES_MAX) controller.abort(new RangeError('the answer is too long'))
        else chunks.push(chunk)
      },
      onResponseEnd() {
        answer.text = Buffer.concat(chunks).toString()
        resolve(answer)
      },
      onResponseError() {
        resolve({ statusCode: 0, text: '' })
      },
    })
  })
}

function isFinalRefusal(statusCode: number): boolean {
  return statusCode >= 400 && statusCode < 500 && statusCode !== 408 && statusCode !== 429
}

function retryAfterMs(value: string | string[] | undefined): number | undefined {
  const seconds = Number(value)
  return value !== undefined && seconds >= 0 && seconds <= 3600 ? seconds * 1000 : undefined
}
