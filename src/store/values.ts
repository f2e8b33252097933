/**
 * How PostgreSQL's values read in TypeScript, the same on every connection: int8 as bigint, timestamptz as Date, json parsed;
 * calendar dates, local times and enums stay text. And how arrays are written, of which every batch is made. It knows no table.
 */
import pg from 'pg'

const int8 = 20
const int8Array = 1016
const date = 1082
const timestampWithoutZone = 1114

function parseInt8Array(text: string): (bigint | null)[] {
  if (text === '{}') return []
  return text
    .slice(1, -1)
    .split(',')
    .map(each => (each === 'NULL' ? null : BigInt(each)))
}

const parsers = new Map<number, (text: string) => unknown>([
  [int8, BigInt],
  [int8Array, parseInt8Array],
  // pg would read these two in the time zone of the process.
  [date, text => text],
  [timestampWithoutZone, text => text],
])

/** The `types` option of every connection. */
export const valueTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && parsers.get(oid)) || pg.types.getTypeParser(oid, format),
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

/** A parameter as it is bound: flat arrays of plain values become literals at a third of the driver's cost, all else is left to it. */
export function bindable(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  const texts: string[] = new Array(value.length)
  for (let i = 0; i < value.length; i += 1) {
    // A batch says much of its operations in the same words: the same job, status, instant.
    const text = i > 0 && value[i] === value[i - 1] ? texts[i - 1] : elementText(value[i])
    if (text === undefined) return value
    texts[i] = text
  }
  return `{${texts.join(',')}}`
}
