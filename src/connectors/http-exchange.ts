/**
 * One HTTP exchange with a device: the request goes out, and what comes back is told. It bounds each phase and refuses to trust the
 * device: any status, any content type, any body at any pace ends in a word or in silence, never in an error.
 */
import { type Dispatcher, errors } from 'undici'
import { cutText } from '../domain/storable.ts'
import type { SendReport } from '../engine/connector.ts'
import { type AnswerBody, readAnswerBody, tooLong } from './answer-body.ts'

/** A request on its way out. */
export interface HttpRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** how long the exchange may be held open once the request has left, ms */
  readonly exchangeMs: number
}

/** What is told of an exchange: `sent`, then one of the others; or one of the others alone. */
export type HttpWord =
  | Exclude<SendReport, { readonly seen: 'answered' | 'away' }>
  /** a 2xx; its body, or why that is not there, as the end of a sentence */
  | { readonly seen: 'accepted'; readonly status: number; readonly body?: string; readonly fault?: string }

/** Bounds of one exchange. */
export interface ExchangeBounds {
  /** until the request has left, ms; after that it is not sent any more */
  readonly sendMs: number
  /** reported when it has not left by then */
  readonly late: HttpWord
  /** from the end of the headers to the end of the body, ms */
  readonly bodyMs: number
  /** also when it is unpacked */
  readonly bodyBytesMax: number
}

const SET_TIMEOUT_MAX_MS = 2 ** 31 - 1

/**
 * Sends a request and tells `sent` when it is written, then what was answered. A device that stays silent for `exchangeMs` is left
 * without another word: the engine judges its time-outs. `ended` is called once, after the last word; where the dispatcher is
 * destroyed, that is when the exchange ends. Answers how to end it without another word.
 */
export function exchange(
  dispatcher: Dispatcher,
  { url, method, headers, body, exchangeMs }: HttpRequest,
  bounds: ExchangeBounds,
  tell: (word: HttpWord) => void,
  ended: () => void,
): () => void {
  const chunks: Buffer[] = []
  let bytes = 0
  let status = 0
  let encoding: string | string[] | undefined
  let settled = false
  let sent = false
  let controller: Dispatcher.DispatchController | undefined
  let timer: NodeJS.Timeout | undefined

  const settle = (result?: HttpWord) => {
    if (settled) return
    settled = true
    if (result !== undefined) tell(result)
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
  const accept = (received: AnswerBody) => settle({ seen: 'accepted', status, ...received })

  const latestAt = performance.now() + bounds.sendMs
  within(bounds.sendMs, () => settle(bounds.late))
  dispatcher.dispatch(
    {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      // What is sent packed all the same is unpacked.
      headers: { 'accept-encoding': 'identity', ...headers },
      body,
      // The timers here bound the whole exchange; the dispatcher's are restarted by every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
    },
    {
      onRequestStart(started) {
        controller = started
        // A process that stood still finds the connection made before it finds its timer due.
        if (performance.now() > latestAt) settle(sent ? CLOSED_UNANSWERED : bounds.late)
        if (settled) return abort()
        within(exchangeMs, settle)
        if (!sent) tell({ seen: 'sent' })
        sent = true
      },
      onResponseStart(_controller, statusCode, answered, statusText) {
        if (statusCode < 200) return
        status = statusCode
        encoding = answered['content-encoding']
        const refused = refusal(statusCode, statusText)
        if (refused !== undefined) settle(refused)
        within(bounds.bodyMs, refused === undefined ? () => accept({ fault: 'its body did not come in time' }) : settle)
      },
      onResponseData(_controller, chunk) {
        bytes += chunk.length
        if (bytes > bounds.bodyBytesMax) {
          if (isYes(status)) accept({ fault: tooLong(bounds.bodyBytesMax) })
          abort()
        } else if (!settled) chunks.push(chunk)
      },
      onResponseEnd() {
        if (isYes(status)) accept(readAnswerBody(Buffer.concat(chunks), encoding, bounds.bodyBytesMax))
        end()
      },
      onResponseError(_controller, error) {
        if (isYes(status)) accept({ fault: 'its body broke off' })
        else settle(failure(error, sent))
        end()
      },
    },
  )
  return () => {
    settle()
    abort()
  }
}

function isYes(status: number): boolean {
  return status >= 200 && status < 300
}

/** What a status other than 2xx means. Serves: decisions on device answers 3xx, 4xx and 5xx. */
function refusal(status: number, statusText = ''): HttpWord | undefined {
  if (isYes(status)) return undefined
  const description = cutText(`the device answered ${status} ${statusText}`.trim(), 200)
  if (status >= 500 || status === 408 || status === 429) return { seen: 'deviceFailed', description }
  if (status < 400) return { seen: 'deviceRefused', description: `${description}; redirects are not followed` }
  return { seen: 'deviceRefused', description }
}

/** The device did not take the connection within its time. */
export const UNREACHABLE_IN_TIME: HttpWord = {
  seen: 'unreachable',
  description: 'the device did not accept a connection in time',
}

const CLOSED = 'the device closed the connection before it answered'
const CLOSED_UNANSWERED: HttpWord = { seen: 'unreachable', description: CLOSED }

/** What a failed exchange says of a device whose status never came. */
function failure(error: Error & { code?: unknown }, sent: boolean): HttpWord {
  const code = typeof error.code === 'string' ? error.code : ''
  if (error instanceof errors.HTTPParserError || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return {
      seen: 'deviceFailed',
      description: cutText(`the answer of the device is not HTTP (${error.message})`, 200),
    }
  }
  if (code === 'ADDRESS_REFUSED') {
    return { seen: 'unreachable', description: `the address of the device is not allowed: ${error.message}` }
  }
  if (code === 'NAME_BUSY') return { seen: 'notSent' }
  if (code === 'NAME_SILENT') return { seen: 'unreachable', description: cutText(error.message, 200) }
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return UNREACHABLE_IN_TIME
  const what = sent ? CLOSED : 'no connection to the device'
  return { seen: 'unreachable', description: cutText(`${what} (${code || error.message})`, 200) }
}
