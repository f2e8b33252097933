/**
 * How arrays are bound, of which every batch is made: in PostgreSQL's binary form where the statement says what its elements are, which
 * costs both sides a fraction of text. It knows no statement and no table.
 */

import pg from 'pg'

/** The driver's types leave it out. */
const { prepareValue } = (pg as typeof pg & { readonly utils: { prepareValue(value: unknown): unknown } }).utils

/** What is written of one element: how many bytes, or undefined where this value has no such form; then all of the array is text. */
interface BinaryElement {
  readonly oid: number
  readonly bytesOf: (element: unknown) => number | undefined
  /** only what `bytesOf` has taken; `view` is of the same bytes */
  readonly write: (into: Buffer, element: never, at: number, view: DataView) => void
}

/** PostgreSQL counts instants from the year 2000, in microseconds. */
const yearOfPostgres = Date.UTC(2000, 0, 1)
const microsecondsOf = (instant: Date) => (instant.getTime() - yearOfPostgres) * 1_000

const integer = (oid: number, bytes: number, most: number, write: BinaryElement['write']): BinaryElement => ({
  oid,
  bytesOf: element =>
    typeof element === 'number' && Number.isInteger(element) && element >= -most - 1 && element <= most
      ? bytes
      : undefined,
  write,
})

/** Texts whose binary form is a mark of a few bytes and the characters. */
const text = (oid: number, mark: readonly number[]): BinaryElement => ({
  oid,
  bytesOf: element => (typeof element === 'string' ? mark.length + Buffer.byteLength(element) : undefined),
  write(into, element: string, at) {
    into.set(mark, at)
    into.write(element, at + mark.length)
  },
})

const binaryElements: ReadonlyMap<string, BinaryElement> = new Map<string, BinaryElement>([
  ['smallint', integer(21, 2, 32_767, (into, element: number, at) => into.writeInt16BE(element, at))],
  ['int', integer(23, 4, 2_147_483_647, (into, element: number, at) => into.writeInt32BE(element, at))],
  [
    'bigint',
    {
      oid: 20,
      bytesOf: element => (typeof element === 'bigint' && BigInt.asIntN(64, element) === element ? 8 : undefined),
      // A Buffer takes a bigint apart into others first.
      write: (_, element: bigint, at, view) => view.setBigInt64(at, element),
    },
  ],
  [
    'timestamptz',
    {
      oid: 1184,
      bytesOf: element => (element instanceof Date && Number.isSafeInteger(microsecondsOf(element)) ? 8 : undefined),
      write(into, element: Date, at) {
        const microseconds = microsecondsOf(element)
        const high = Math.floor(microseconds / 2 ** 32)
        into.writeInt32BE(high, at)
        into.writeUInt32BE(microseconds - high * 2 ** 32, at + 4)
      },
    },
  ],
  ['text', text(25, [])],
  ['jsonb', text(3802, [1])],
])

/** Dimensions, whether there are nulls, the type, and of the one dimension its length and first index. */
const headerBytes = 20

function binaryArray(elements: readonly unknown[], { oid, bytesOf, write }: BinaryElement): Buffer | undefined {
  const sizes: number[] = new Array(elements.length)
  let total = headerBytes
  let nulls = 0
  for (let i = 0; i < elements.length; i += 1) {
    const element = elements[i]
    const isNull = element === null || element === undefined
    const bytes = isNull ? -1 : bytesOf(element)
    if (bytes === undefined) return undefined
    if (isNull) nulls = 1
    else total += bytes
    sizes[i] = bytes
    total += 4
  }
  const into = Buffer.allocUnsafe(total)
  const view = new DataView(into.buffer, into.byteOffset, total)
  into.writeInt32BE(1, 0)
  into.writeInt32BE(nulls, 4)
  into.writeInt32BE(oid, 8)
  into.writeInt32BE(elements.length, 12)
  into.writeInt32BE(1, 16)
  let at = headerBytes
  for (let i = 0; i < elements.length; i += 1) {
    at = into.writeInt32BE(sizes[i]!, at)
    if (sizes[i] === -1) continue
    write(into, elements[i] as never, at, view)
    at += sizes[i]!
  }
  return into
}

const needsEscape = /["\\]/
/** Instants whose ISO 8601 text PostgreSQL reads: the years of four digits. */
const firstDate = new Date('0001-01-01T00:00:00Z')
const endDate = new Date('+010000-01-01T00:00:00Z')

/** The element in an array literal, or undefined where it is not of the plain kinds. */
function elementText(element: unknown): string | undefined {
  if (element === null || element === undefined) return 'NULL'
  if (typeof element === 'string') {
    return needsEscape.test(element) ? `"${element.replace(/["\\]/g, '\\$&')}"` : `"${element}"`
  }
  if (typeof element === 'bigint' || typeof element === 'number') return String(element)
  if (element instanceof Date && element >= firstDate && element < endDate) return `"${element.toISOString()}"`
  return undefined
}

function arrayLiteral(elements: readonly unknown[]): string | undefined {
  const texts: string[] = new Array(elements.length)
  for (let i = 0; i < elements.length; i += 1) {
    // A batch says much of its operations in the same words: the same job, status, instant.
    const text = i > 0 && elements[i] === elements[i - 1] ? texts[i - 1] : elementText(elements[i])
    if (text === undefined) return undefined
    texts[i] = text
  }
  return `{${texts.join(',')}}`
}

/**
 * A parameter as it is bound. `elementType` is what the statement casts the array's elements to; without it flat arrays of plain
 * values become literals at a third of the driver's cost, and all else is left to the driver: here, and not when it is sent, since a statement
 * that fails then has been forgotten by the server and not by the driver.
 */
export function bindable(value: unknown, elementType?: string): unknown {
  if (!Array.isArray(value)) return prepareValue(value)
  const binary = elementType === undefined || value.length === 0 ? undefined : binaryElements.get(elementType)
  return (binary && binaryArray(value, binary)) ?? arrayLiteral(value) ?? prepareValue(value)
}
