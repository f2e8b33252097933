/**
 * How PostgreSQL's values read in TypeScript, the same on every connection: int8 as bigint, timestamptz as Date, json parsed;
 * calendar dates, local times and enums stay text. It knows no table.
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
