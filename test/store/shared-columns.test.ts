import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sharedColumns } from '../../src/store/shared-columns.ts'
import { statement } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const { database } = await testDatabase({ migrated: false })

interface Row {
  status: string
  attempt: number
  at: Date | null
  isLate: boolean
}
const columns = sharedColumns<Row>({
  status: ['text', ({ status }) => status],
  attempt: ['smallint', ({ attempt }) => attempt],
  at: ['timestamptz', ({ at }) => at],
  is_late: ['boolean', ({ isLate }) => isLate],
})
const readBack = statement<Row, [number[], ...unknown[][]]>(
  'test-shared-columns',
  `select s.status, s.attempt, s.at, s.is_late as "isLate"
     from unnest($1::smallint[]) with ordinality as i(kind, place) cross join lateral ${columns.sql(2)} s order by i.place`,
)

const row: fc.Arbitrary<Row> = fc.record({
  status: fc.constantFrom('PENDING', 'QUEUED', 'null', ''),
  attempt: fc.nat(3),
  // Instants are the same by what they say: each row has a Date of its own.
  at: fc.option(fc.nat(3).map(ms => new Date(ms))),
  isLate: fc.boolean(),
})

test('what rows share comes back for each of them, however much of it differs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 100 }), async rows => {
      expect(await database.run(readBack, columns.of(rows) as [number[], ...unknown[][]])).toEqual(rows)
    }),
    { numRuns: 100 },
  )
})

test('each kind of row is bound once', () => {
  const alike = (at: number): Row => ({ status: 'QUEUED', attempt: 1, at: new Date(at), isLate: false })
  expect(columns.of([alike(1), alike(2), alike(1), alike(1)])).toEqual([
    [1, 2, 1, 1],
    ['QUEUED', 'QUEUED'],
    [1, 1],
    [new Date(1), new Date(2)],
    [false, false],
  ])
})
