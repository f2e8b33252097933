/**
 * How the body of a client's request is read: UTF-8 and JSON or a clean refusal. It judges no member; that is the schema's part.
 */
import type { FastifyInstance } from 'fastify'
import { parseJson } from '../contract/reading.ts'
import { DroverError } from '../domain/errors.ts'
import { invalidField } from '../domain/refusal.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Only a text in which one of these is written can hold a member or a character that nothing behind the door may meet. */
const suspicious = /__proto__|\\u(?:0000|005f|00[67][0-9a-f]|d[89a-f][0-9a-f]{2})/i

/** Only a text in which one of these is written can hold a number beyond the range of numbers, about 1.8e308. */
const vast = /\de\+?\d{2}|(?<!\d)\d{300}/i

function malformed(value: string): DroverError {
  return new DroverError('malformed', [{ name: 'body', value }])
}

/** Refuses what would be read as something else further on: a prototype as a member, and characters that no text may hold. */
function refusePoison(body: unknown): void {
  const open: unknown[] = [body]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === 'string') refuseText(value)
    if (typeof value !== 'object' || value === null) continue
    for (const [name, member] of Object.entries(value)) {
      if (name === '__proto__') throw new DroverError('forbiddenField', [{ name }])
      refuseText(name)
      if (member !== undefined && member !== null) open.push(member)
    }
  }
}

function refuseText(text: string): void {
  if (text.includes('\u0000')) throw malformed('holds the character \\u0000, which no text may hold')
  if (!text.isWellFormed()) throw malformed('holds half a character: a surrogate without its other half')
}

/** Refuses a number that is read as infinite: it would be kept, and reach devices, as null. */
function refuseInfinite(body: unknown): void {
  const at = pathOfInfinite(body)
  if (at !== undefined) throw invalidField(at.replace(/^\./, '') || 'body', 'is beyond the range of numbers')
}

/** Where in a value a number is infinite, as `.members[0].name`. A body is not nested deeper than a call may be. */
function pathOfInfinite(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : ''
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const inner = pathOfInfinite(member)
    if (inner !== undefined) return `${Array.isArray(value) ? `[${name}]` : `.${name}`}${inner}`
  }
  return undefined
}

/** Reads the bytes of a body; no bytes are no body. Fails with `malformed` and the reason, or naming the field. */
function readJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw malformed('not UTF-8')
  }
  const reading = parseJson(text)
  if (!reading.ok) throw malformed(reading.reason)
  if (suspicious.test(text)) refusePoison(reading.value)
  if (vast.test(text)) refuseInfinite(reading.value)
  return reading.value
}

/** Makes JSON the only content type a server takes; a door that takes another one adds its own parser in its own plugin. */
export function takeJsonOnly(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  for (const type of ['application/json', /^application\/[\w.-]+\+json/]) {
    server.addContentTypeParser(type, { parseAs: 'buffer' }, async (_request: unknown, bytes: Buffer) =>
      readJsonBody(bytes),
    )
  }
}
