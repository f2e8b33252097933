import fc from 'fast-check'
import { expect, test } from 'vitest'
import { statement } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const { database } = await testDatabase({ migrated: false })

type Batch = [(string | null)[], (bigint | null)[], Date[]]
const back = statement<{ texts: (string | null)[]; numbers: (bigint | null)[]; dates: Date[] }, Batch>(
  'test-values-back',
  'select $1::text[] as texts, $2::bigint[] as numbers, $3::timestamptz[] as dates',
)

// PostgreSQL stores no NUL, and no half of a surrogate pair.
const text = fc.string({ unit: 'grapheme' }).filter(each => !each.includes('\u0000') && each.isWellFormed())
const awkward = fc.constantFrom('', 'NULL', 'null', '"', '\\', '{}', '{"a":"b\\"c"}', ',', ' ', '\n', "'")
const int8 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const date = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('+012000-01-01T00:00:00Z'),
  noInvalidDate: true,
})

test('every array comes back from the database as it was bound', async () => {
  const batch = fc.tuple(
    fc.array(fc.option(fc.oneof(text, awkward))),
    fc.array(fc.option(int8)),
    fc.array(date, { maxLength: 5 }),
  )
  await fc.assert(
    fc.asyncProperty(batch, async ([texts, numbers, dates]) => {
      expect(await database.run(back, [texts, numbers, dates])).toEqual([{ texts, numbers, dates }])
    }),
  )
})
