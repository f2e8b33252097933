/**
 * The typed client of the client interface, for browsers and Node: addresses, parameters, bodies and answers are checked when it is
 * compiled, by types generated from the OpenAPI document. It sends and reads; it keeps no state and repeats nothing by itself.
 */
import type { ErrorBody, Operations } from './generated/north.ts'

export type * from './generated/north.ts'

/** An operation by its method and address, such as `GET /operation/jobs/{jobId}`. */
export type OperationName = keyof Operations

/** What an operation is given: what stands in its address, its query, headers and body. */
export type Given<Name extends OperationName> = Omit<Operations[Name], 'answer'> & { readonly signal?: AbortSignal }

/** What an operation answers; undefined where there was nothing to answer. */
export type Answer<Name extends OperationName> = Operations[Name]['answer']

/** Left out where everything in it may be. */
export type GivenTo<Name extends OperationName> =
  Record<never, never> extends Given<Name> ? [given?: Given<Name>] : [given: Given<Name>]

export interface Client {
  readonly url: string
  /** Does an operation and reads its answer. Fails with `Refused`, a `TimeoutError`, or as the network does. */
  call<Name extends OperationName>(name: Name, ...given: GivenTo<Name>): Promise<Answer<Name>>
  /**
   * Does an operation and answers the response itself, for its headers or as a stream: as CSV with `accept: 'text/plain'`, as live events
   * with `accept: 'text/event-stream'`. It may take as long as it does. Fails with `Refused` or as the network does.
   */
  open<Name extends OperationName>(name: Name, accept: string, ...given: GivenTo<Name>): Promise<Response>
}

export interface ClientOptions {
  /** where the service is: `http://127.0.0.1:8080`; in a browser '' is the page's own */
  readonly url: string
  /** the headers that prove who asks, looked up for each request: `X-ApiKey`, or `Authorization` */
  readonly credentials?: () => Readonly<Record<string, string>>
  /** how long a call may take; 60 s unless told */
  readonly withinMs?: number
  /** in place of the platform's own */
  readonly fetch?: typeof fetch
}

const PREFIX = '/north/v80'
const WITHIN_MS = 60_000

/** A client of the service at `url`. */
export function createClient(options: ClientOptions): Client {
  const url = options.url.replace(/\/+$/, '')
  const { credentials = () => ({}), withinMs = WITHIN_MS, fetch = globalThis.fetch } = options

  async function send(name: OperationName, accept: string, given: Loose, signal: AbortSignal | undefined) {
    const [method = '', address = ''] = name.split(' ')
    const { path = {}, query = {}, header = {}, body } = given
    const response = await fetch(`${url}${PREFIX}${filled(address, path)}${queryOf(query)}`, {
      method,
      headers: {
        accept,
        ...(body !== undefined && { 'content-type': typeof body === 'string' ? 'text/csv' : 'application/json' }),
        ...present(header),
        ...credentials(),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    if (response.ok) return response
    throw new Refused(response, await response.json().catch(() => undefined))
  }

  return {
    url,
    async call(name, ...[given]) {
      const { signal, ...rest }: Loose = given ?? {}
      const timeout = AbortSignal.timeout(withinMs)
      const response = await send(name, 'application/json', rest, signal ? AbortSignal.any([signal, timeout]) : timeout)
      const text = await response.text()
      return text === '' ? undefined : JSON.parse(text)
    },
    open(name, accept, ...[given]) {
      const { signal, ...rest }: Loose = given ?? {}
      return send(name, accept, rest, signal)
    },
  }
}

interface Loose {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** A refusal of the service, or an answer that is none of its own. */
export class Refused extends Error {
  readonly status: number
  /** what the service said; empty where the answer was not its own */
  readonly errors: ErrorBody['errors']

  constructor(response: Response, body: unknown) {
    const errors = errorsIn(body)
    super(errors.map(refusalWords).join(' ') || `${response.status} ${response.statusText}`.trim())
    this.name = 'Refused'
    this.status = response.status
    this.errors = errors
  }
}

/** Each value as one segment, whatever characters it has. */
function filled(address: string, path: Readonly<Record<string, unknown>>): string {
  return address.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])))
}

function queryOf(query: Readonly<Record<string, unknown>>): string {
  const text = new URLSearchParams(present(query)).toString()
  return text === '' ? '' : `?${text}`
}

function present(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}

function errorsIn(body: unknown): ErrorBody['errors'] {
  if (typeof body !== 'object' || body === null || !('errors' in body)) return []
  return Array.isArray(body.errors) ? body.errors : []
}

/** Things of a list that are told to people. */
const TOLD_MAX = 10

/** A refusal as people read it: its message, and what of the fields at fault the message does not tell. */
export function refusalWords({ message, context = [] }: ErrorBody['errors'][number]): string {
  const told = context.flatMap(({ name, value }) => {
    const words = valueWords(value)
    if (words !== '' && !message.includes(words)) return [message.includes(name) ? words : `${name}: ${words}`]
    return message.includes(name) ? [] : [name]
  })
  return told.length === 0 ? message : `${message} (${told.join(', ')})`
}

function valueWords(value: unknown): string {
  if (!Array.isArray(value)) return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  return `${value.slice(0, TOLD_MAX).join(', ')}${value.length > TOLD_MAX ? ', …' : ''}`
}
