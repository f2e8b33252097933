/**
 * What comes of reading a message from outside: its value, or the field at fault and the reason in plain words.
 * It refuses to throw: a hostile message is an answer, not an accident.
 */
import { daysInMonth } from '../domain/instants.ts'
import { shortened, storableText } from '../domain/storable.ts'

/** A message that was read, or why it was not: `field` is a path such as `operation.response.steps[0].name`, empty for the whole. */
export type Reading<T> = { ok: true; value: T } | { ok: false; field: string; reason: string }

/** An object as JSON gives it. */
export type JsonObject = Record<string, unknown>

/** Brackets within brackets that a message may hold; deeper ones could exhaust the stack of whatever writes them again. */
export const MESSAGE_DEPTH_MAX = 64

/** A good reading. */
export function read<T>(value: T): Reading<T> {
  return { ok: true, value }
}

/** A refused reading. */
export function refuse(field: string, reason: string): { ok: false; field: string; reason: string } {
  return { ok: false, field, reason }
}

const utf8 = new TextDecoder()

/** Bytes as UTF-8, what is none as U+FFFD; without a byte order mark. */
export function utf8Text(body: string | Uint8Array): string {
  const text = typeof body === 'string' ? body : utf8.decode(body)
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/**
 * Reads a body as JSON whatever its content type says; bytes are taken as UTF-8, with or without a byte order mark.
 * Fails on an empty body, on text that is not JSON, and on nesting deeper than `MESSAGE_DEPTH_MAX`.
 */
export function parseJson(body: string | Uint8Array): Reading<unknown> {
  const text = utf8Text(body)
  if (/^\s*$/.test(text)) return refuse('', 'the body is empty')
  if (isDeeperThan(text, MESSAGE_DEPTH_MAX)) return refuse('', `nested deeper than ${MESSAGE_DEPTH_MAX} levels`)
  try {
    return read(JSON.parse(text))
  } catch {
    return refuse('', 'not JSON')
  }
}

/** Written in a text, an escape that may stand for a character which no database text can hold. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i

/**
 * Reads a body of a device as JSON, as `parseJson` does. A device cannot mend what it sends: NUL characters and halves of surrogate
 * pairs, which no text in the database can hold, are read as U+FFFD instead of losing the message.
 */
export function parseDeviceJson(body: string | Uint8Array): Reading<unknown> {
  const text = utf8Text(body)
  const parsed = parseJson(text)
  return parsed.ok && UNSTORABLE.test(text) ? read(storable(parsed.value)) : parsed
}

/** A JSON value whose texts and names the database can hold, in the way of `parseDeviceJson`. */
export function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return value.map(storable)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [storable(name), storable(member)]))
}

/** Whether a value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A free text as it was meant: numbers and the like become their text, null and absent none. */
export function readText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? undefined)
}

/** A free text as `readText` reads it, at most so many characters of it. */
export function readShortText(value: unknown, lengthMax: number): string | undefined {
  const text = readText(value)
  return text === undefined ? undefined : shortened(text, lengthMax)
}

const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const ISO_DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$/i

/**
 * An instant as devices write it, in epoch milliseconds: a number, a number in a string, or an ISO-8601 date, which is UTC where
 * it names no offset. What cannot be read, or lies outside the years 1970 to 9999, counts as missing.
 */
export function readInstant(value: unknown): number | undefined {
  const at = typeof value === 'string' ? instantOfText(value.trim()) : value
  if (typeof at !== 'number' || !(at >= 0 && at <= LAST_INSTANT)) return undefined
  return Math.floor(at)
}

function instantOfText(text: string): number | undefined {
  if (/^\d{1,20}(\.\d{1,20})?$/.test(text)) return Number(text)
  const match = text.length <= 40 ? ISO_DATE_TIME.exec(text) : null
  if (match === null) return undefined
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  // What no calendar has would be read as a day of the next month.
  if (day < 1 || day > daysInMonth(year, month - 1)) return undefined
  return Date.parse(match[4] === undefined && text.length > 10 ? `${text}Z` : text)
}

function isDeeperThan(text: string, depthMax: number): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (inString) {
      if (code === 0x5c) i++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > depthMax) return true
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return false
}
