/**
 * One HTTP exchange with a device: the request goes out, and what comes back is told as a report. It bounds each phase and refuses
 * to trust the device: any status, any content type, any body at any pace ends in a report or in silence, never in an error.
 */
import { type Dispatcher, errors } from 'undici'
import { parseDeviceResponse } from '../contract/device.ts'
import { reportIn, requestMessage } from '../contract/device-exchange.ts'
import type { OperationRequest, SendReport } from '../engine/connector.ts'

/** Bounds of one exchange. */
export interface ExchangeBounds {
  /** until the request has left, ms; after that it is not sent any more */
  readonly sendMs: number
  /** reported when it has not left by then */
  readonly late: SendReport
  /** from the end of the headers to the end of the body, ms */
  readonly bodyMs: number
  readonly bodyBytesMax: number
}

const SET_TIMEOUT_MAX_MS = 2 ** 31 - 1

/**
 * Posts a request to a device and reports `sent` when it is written, then what the device answered. A device that stays silent for
 * `exchangeMs` is left without another report: the engine judges its time-outs. `ended` is called once, after the last report; where
 * the dispatcher is destroyed, that is when the exchange ends.
 */
export function exchange(
  dispatcher: Dispatcher,
  url: URL,
  request: OperationRequest,
  bounds: ExchangeBounds,
  report: (report: SendReport) => void,
  ended: () => void,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  let status = 0
  let settled = false
  let sent = false
  let controller: Dispatcher.DispatchController | undefined
  let timer: NodeJS.Timeout | undefined

  const settle = (result?: SendReport) => {
    if (settled) return
    settled = true
    if (result !== undefined) report(result)
  }
  const end = () => {
    clearTimeout(timer)
    settle()
    ended()
  }
  const abort = () => controller?.abort(new Error('abandoned'))
  const within = (ms: number, over: () => void) => {
    clearTimeout(timer)
    timer = setTimeout(
      () => {
        over()
        abort()
      },
      Math.min(ms, SET_TIMEOUT_MAX_MS),
    )
  }
  /** The body so far, where the device said yes; what cannot be read is an acknowledgement. */
  const answered = (body?: string) => settle({ seen: 'answered', message: messageIn(body, request) })

  within(bounds.sendMs, () => settle(bounds.late))
  dispatcher.dispatch(
    {
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(request.device.apiKey !== undefined && { 'x-apikey': request.device.apiKey }),
      },
      body: JSON.stringify(requestMessage(request)),
      // The timers here bound the whole exchange; the dispatcher's are restarted by every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
    },
    {
      onRequestStart(started) {
        controller = started
        if (settled) return abort()
        within(request.exchangeMs, settle)
        if (!sent) report({ seen: 'sent' })
        sent = true
      },
      onResponseStart(_controller, statusCode, _headers, statusText) {
        if (statusCode < 200) return
        status = statusCode
        const refused = refusal(statusCode, statusText)
        if (refused !== undefined) settle(refused)
        within(bounds.bodyMs, refused === undefined ? answered : settle)
      },
      onResponseData(_controller, chunk) {
        bytes += chunk.length
        if (bytes > bounds.bodyBytesMax) {
          if (isYes(status)) answered()
          abort()
        } else if (!settled) chunks.push(chunk)
      },
      onResponseEnd() {
        if (isYes(status)) answered(Buffer.concat(chunks).toString('utf8'))
        end()
      },
      onResponseError(_controller, error) {
        if (isYes(status)) answered()
        else settle(failure(error, sent))
        end()
      },
    },
  )
}

function isYes(status: number): boolean {
  return status >= 200 && status < 300
}

/** What a status other than 2xx means. Serves: decisions on device answers 3xx, 4xx and 5xx. */
function refusal(status: number, statusText = ''): SendReport | undefined {
  if (isYes(status)) return undefined
  const description = `the device answered ${status} ${statusText}`.trim().slice(0, 200)
  if (status >= 500 || status === 408 || status === 429) return { seen: 'deviceFailed', description }
  if (status < 400) return { seen: 'deviceRefused', description: `${description}; redirects are not followed` }
  return { seen: 'deviceRefused', description }
}

/** The message in a 2xx answer. An answer about another operation acknowledges this one and says nothing else of it. */
function messageIn(body: string | undefined, request: OperationRequest) {
  const { organization, deviceId, partition, entity } = request.device
  const reading = body === undefined ? undefined : parseDeviceResponse(body, request.id)
  const report =
    reading?.ok && reading.value.operationId === request.id
      ? reportIn(reading.value, body ?? '')
      : { operationId: request.id, steps: [] }
  return { ...report, organization, deviceId, partition, entity }
}

/** The device did not take the connection within its time. */
export const UNREACHABLE_IN_TIME: SendReport = {
  seen: 'unreachable',
  description: 'the device did not accept a connection in time',
}

/** What a failed exchange says of a device whose status never came. */
function failure(error: Error & { code?: unknown }, sent: boolean): SendReport {
  const code = typeof error.code === 'string' ? error.code : ''
  if (error instanceof errors.HTTPParserError || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return {
      seen: 'deviceFailed',
      description: `the answer of the device is not HTTP (${error.message})`.slice(0, 200),
    }
  }
  if (code === 'ADDRESS_REFUSED') {
    return { seen: 'unreachable', description: `the address of the device is not allowed: ${error.message}` }
  }
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return UNREACHABLE_IN_TIME
  const what = sent ? 'the device closed the connection before it answered' : 'no connection to the device'
  return { seen: 'unreachable', description: `${what} (${code || error.message})`.slice(0, 200) }
}
