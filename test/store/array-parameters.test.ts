import fc from 'fast-check'
import { expect, test } from 'vitest'
import { statement } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const { database } = await testDatabase({ migrated: false })

type Batch = [
  (string | null)[],
  (bigint | null)[],
  (Date | null)[],
  (number | null)[],
  (number | null)[],
  (string | null)[],
]
interface Back {
  texts: (string | null)[]
  bigs: (bigint | null)[]
  dates: (Date | null)[]
  ints: (number | null)[]
  smalls: (number | null)[]
  documents: unknown[]
}
const typed = statement<Back, Batch>(
  'test-arrays-typed',
  `select $1::text[] as texts, $2::bigint[] as bigs, $3::timestamptz[] as dates, $4::int[] as ints, $5::smallint[] as smalls,
          to_jsonb($6::jsonb[]) as documents`,
)
// A cast that is not read as one of elements leaves the arrays to be written as text.
const untyped = statement<Back, Batch>(
  'test-arrays-untyped',
  `select cast($1 as text[]) as texts, cast($2 as bigint[]) as bigs, cast($3 as timestamptz[]) as dates,
          cast($4 as int[]) as ints, cast($5 as smallint[]) as smalls, to_jsonb(cast($6 as jsonb[])) as documents`,
)

// PostgreSQL stores no NUL, and no half of a surrogate pair.
const text = fc.string({ unit: 'grapheme' }).filter(each => !each.includes('\u0000') && each.isWellFormed())
const awkward = fc.constantFrom('', 'NULL', 'null', '"', '\\', '{}', '{"a":"b\\"c"}', ',', ' ', '\n', "'")
const int = (bits: number) => fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 })
const bigint = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const date = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('+012000-01-01T00:00:00Z'),
  noInvalidDate: true,
})
const document = fc.record({ said: fc.oneof(text, awkward), of: fc.array(fc.integer()) })

const batches = fc.tuple(
  fc.array(fc.option(fc.oneof(text, awkward))),
  fc.array(fc.option(bigint)),
  fc.array(fc.option(date), { maxLength: 5 }),
  fc.array(fc.option(int(32))),
  fc.array(fc.option(int(16))),
  fc.array(fc.option(document), { maxLength: 5 }),
)

test.each([
  ['in binary, where the statement says of which type its elements are', typed],
  ['as text, where it does not', untyped],
] as const)('every array comes back from the database as it was bound: %s', async (_, statement) => {
  await fc.assert(
    fc.asyncProperty(batches, async ([texts, bigs, dates, ints, smalls, documents]) => {
      const written = documents.map(each => (each === null ? null : JSON.stringify(each)))
      const [back] = await database.run(statement, [texts, bigs, dates, ints, smalls, written])
      expect(back).toEqual({ texts, bigs, dates, ints, smalls, documents })
    }),
  )
})

test('a number that its type does not hold is for the database to refuse', async () => {
  await expect(database.run(typed, [[], [], [], [2 ** 31], [], []])).rejects.toMatchObject({ code: '22003' })
  await expect(database.run(typed, [[], [], [], [], [1.5], []])).rejects.toMatchObject({ code: '22P02' })
})
