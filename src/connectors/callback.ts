/**
 * Posts notifications to the callbacks of jobs, signed where a secret is configured. It judges the address it connects to, follows no
 * redirect and reads no more of an answer than its status. Serves: Events.
 */
import { createHmac } from 'node:crypto'
import { Agent, type Dispatcher, Pool, request } from 'undici'
import { notificationAddress } from '../domain/callback-address.ts'
import type { DeliveryEvent, DeliveryOutcome } from '../domain/delivery.ts'
import type { DeliveryMessage, SendDelivery } from '../engine/connector.ts'
import { type AddressRules, guardedLookup, judgeHost } from './address-guard.ts'
import { keptConnection } from './kept-connection.ts'
import { createNameService, type NameService } from './name-service.ts'
import { trusting } from './trusted-certificates.ts'

export interface CallbackOptions {
  readonly rules: AddressRules
  /** who finds the addresses of receivers, in fair shares; closed with the connector */
  readonly nameService?: NameService
  readonly allowHttps: boolean
  /** certificates (PEM) that are trusted beside the system's */
  readonly certificates?: readonly string[]
  /** what is appended to the callback for each event */
  readonly names: Readonly<Record<DeliveryEvent, string>>
  /** signs every request; null for no signatures */
  readonly secret: string | null
  /** for the connection, and for all of an attempt */
  readonly connectMs?: number
  readonly attemptMs?: number
}

export interface CallbackConnector {
  readonly send: SendDelivery
  /** Ends the connections that are kept. */
  close(): Promise<void>
}

/** What bounds the look-ups of receivers' names. Spans in milliseconds. */
export const CALLBACK_NAMES = { answerMs: 4_000, turnMs: 1_000, lookupsMax: 512 }
/** For all of an attempt, and for its connection. */
export const CALLBACK_ATTEMPT_MS = 15_000
export const CALLBACK_CONNECT_MS = 5_000

/** What is read of the body of an answer, and for how long, to keep its connection. */
const bodyBytesMax = 65_536
const bodyMs = 1_000

/** Makes the connector of the channel `callback`. Spans in milliseconds. */
export function createCallbackConnector(options: CallbackOptions): CallbackConnector {
  // A name that is silent for so long counts as one that hangs, as its receiver would.
  const {
    nameService = createNameService(CALLBACK_NAMES),
    connectMs = CALLBACK_CONNECT_MS,
    attemptMs = CALLBACK_ATTEMPT_MS,
  } = options
  const key = options.secret === null ? null : signingKey(options.secret)
  const agent = new Agent({
    connect: {
      lookup: guardedLookup(options.rules, name => nameService.find(name, 0)),
      timeout: connectMs,
      ...trusting(options.certificates),
    },
    connections: 8,
    factory: (origin, poolOptions) => new Pool(origin, { ...poolOptions, factory: keptConnection }),
    keepAliveTimeout: 10_000,
    headersTimeout: attemptMs,
    bodyTimeout: attemptMs,
    maxHeaderSize: 16_384,
  })

  async function send(message: DeliveryMessage, stopping: AbortSignal): Promise<DeliveryOutcome> {
    const url = new URL(notificationAddress(message.receiver, options.names[message.event]))
    const refused = refusal(url, options)
    if (refused !== undefined) return { taken: false, error: refused }
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(attemptMs)])
    try {
      // In the share of its organization; the connection then finds what is remembered of it.
      await Promise.race([nameService.find(bareHost(url), message.organization), aborted(signal)])
      const answer = await request(url, {
        dispatcher: agent,
        method: 'POST',
        headers: headersOf(message, key),
        body: message.body,
        signal,
      })
      await leave(answer.body)
      const status = answer.statusCode
      if (status >= 200 && status < 300) return { taken: true, status }
      const hint = status >= 300 && status < 400 ? '; redirects are not followed' : ''
      return { taken: false, status, error: `the receiver answered ${status}${hint}` }
    } catch (error) {
      return { taken: false, error: reasonOf(error, stopping) }
    }
  }

  async function close(): Promise<void> {
    await agent.destroy()
    nameService.close()
  }

  return { send, close }
}

function bareHost({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

function refusal(url: URL, { allowHttps, rules }: CallbackOptions): string | undefined {
  if (url.protocol === 'https:' && !allowHttps) return 'only the HTTP scheme is supported'
  const reason = judgeHost(url.hostname, rules)
  return reason === undefined ? undefined : `the address is not allowed: ${reason}`
}

/** The body is of no interest; a short one is read, so that the connection can be used again. */
async function leave(body: Dispatcher.ResponseData['body']): Promise<void> {
  await body.dump({ limit: bodyBytesMax, signal: AbortSignal.timeout(bodyMs) }).catch(() => {})
}

/** A secret is taken as it is, or, where it begins with `whsec_`, as the base64 behind that. Serves: Standard Webhooks. */
function signingKey(secret: string): Buffer {
  const prefix = 'whsec_'
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret)
}

function headersOf({ id, body, at }: DeliveryMessage, key: Buffer | null): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1_000).toString()
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'drover',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
  }
  if (key === null) return headers
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${signature}` }
}

function reasonOf(error: unknown, stopping: AbortSignal): string {
  if (stopping.aborted) return 'the service stopped before the receiver answered'
  const { name, code, message } = error as { name?: unknown; code?: unknown; message?: unknown }
  if (name === 'NameNotFound') return String(message)
  if (name === 'TimeoutError' || code === 'UND_ERR_HEADERS_TIMEOUT') return 'the receiver did not answer in time'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'the receiver did not accept a connection in time'
  if (code === 'ADDRESS_REFUSED') return `the address is not allowed: ${String(message)}`
  return `no answer from the receiver: ${String(message || code || name)}`
}
