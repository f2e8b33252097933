/**
 * What connector functions give: a `request` one way to the device or a result, a `response` the responses in a message. It reads them
 * strictly, since their author can mend them, and sends nothing. Texts in responses are read as those of devices are, which they may hold.
 */
import { FUNCTION_RESPONSES_MAX } from '../domain/connector-function.ts'
import { type DeviceResponse, readDeviceResponse } from './device.ts'
import { isObject, type JsonObject, type Reading, read, refuse, storable } from './reading.ts'

const FUNCTION_HTTP_METHODS = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'] as const

/** An HTTP request that a function wants sent; without `url` it goes where the device is provisioned. */
export interface FunctionHttp {
  readonly method: (typeof FUNCTION_HTTP_METHODS)[number]
  readonly url?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What `request` gave. */
export type FunctionRequest =
  | { readonly way: 'http'; readonly http: FunctionHttp }
  | { readonly way: 'mqtt'; readonly payload: string }
  | { readonly way: 'result'; readonly response: DeviceResponse }

const HEADERS_MAX = 50
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/
/** A value that could not begin a header of its own. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,4096}$/
/** Where a reading of a device's response finds what a function gave without it. */
const ENVELOPE = /^operation\.response/
/** They belong to the connection. */
const OWN_HEADERS = ['host', 'content-length', 'transfer-encoding', 'connection', 'upgrade', 'te', 'trailer', 'expect']

/** Reads what `request` gave for an operation. Fails, naming the field. */
export function readFunctionRequest(value: unknown, operationId: string): Reading<FunctionRequest> {
  if (!isObject(value)) return refuse('', 'must be an object with http, mqtt or result')
  const ways = ['http', 'mqtt', 'result'].filter(way => value[way] !== undefined && value[way] !== null)
  const [way] = ways
  if (way === undefined || ways.length > 1) return refuse('', 'must have exactly one of http, mqtt and result')
  const given = value[way]
  if (!isObject(given)) return refuse(way, 'must be an object')
  if (way === 'http') return readHttp(given)
  if (way === 'mqtt') {
    const payload = textOf(given.payload)
    return payload === undefined ? refuse('mqtt.payload', 'must be there') : read({ way, payload })
  }
  const response = readDeviceResponse(storable({ operation: { response: { ...given, id: operationId } } }))
  if (response.ok) return read({ way: 'result', response: response.value })
  return refuse(response.field.replace(ENVELOPE, 'result'), response.reason)
}

/**
 * Reads what `response` gave: nothing, one response or a list, each as it travels or without its envelope. `operationId` is the
 * operation whose exchange it was, where a response may leave its id out. Fails, naming the field.
 */
export function readFunctionResponses(value: unknown, operationId?: string): Reading<DeviceResponse[]> {
  const list = value === null || value === undefined ? [] : Array.isArray(value) ? value : [value]
  if (list.length > FUNCTION_RESPONSES_MAX)
    return refuse('', `must not be more than ${FUNCTION_RESPONSES_MAX} responses`)
  const responses: DeviceResponse[] = []
  for (const [index, each] of list.entries()) {
    const isBare = isObject(each) && each.operation === undefined
    const response = readDeviceResponse(storable(isBare ? { operation: { response: each } } : each), operationId)
    if (!response.ok) {
      const field = isBare ? response.field.replace(ENVELOPE, '') : `.${response.field}`
      return refuse(`[${index}]${field}`.replace(/\.$/, ''), response.reason)
    }
    responses.push(response.value)
  }
  return read(responses)
}

function readHttp(given: JsonObject): Reading<FunctionRequest> {
  const method = FUNCTION_HTTP_METHODS.find(known => known === (given.method ?? 'POST'))
  if (method === undefined) return refuse('http.method', `must be one of ${FUNCTION_HTTP_METHODS.join(', ')}`)
  const { url } = given
  if (url !== undefined && !isUrl(url)) return refuse('http.url', 'must be an http or https URL without a user name')
  const named = isObject(given.headers ?? {}) ? Object.entries(given.headers ?? {}) : undefined
  if (named === undefined || named.length > HEADERS_MAX)
    return refuse('http.headers', `must be at most ${HEADERS_MAX} names and values`)
  const headers: Record<string, string> = {}
  for (const [written, value] of named) {
    const name = written.toLowerCase()
    if (!HEADER_NAME.test(name) || OWN_HEADERS.includes(name))
      return refuse(`http.headers.${written}`, 'is no header that may be set')
    if (typeof value !== 'string' || !HEADER_VALUE.test(value))
      return refuse(`http.headers.${written}`, 'must be a text of one line')
    headers[name] = value
  }
  if (typeof given.body !== 'string') headers['content-type'] ??= 'application/json'
  const http = { method, headers, body: textOf(given.body) ?? '', ...(url !== undefined && { url }) }
  return read({ way: 'http', http })
}

function isUrl(value: unknown): value is string {
  const url = typeof value === 'string' && value.length <= 2048 ? URL.parse(value) : null
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}

/** A text as it is, anything else as JSON. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}
