import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FieldType, type FilterValue, parseFilter } from '../../src/domain/filter.ts'
import { sqlState } from '../../src/store/database.ts'
import { type FilterColumn, filterSql } from '../../src/store/filter-sql.ts'
import { render, sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const { database } = await testDatabase({ migrated: false })

await database.query(sql`create table thing (
  id int primary key, name text, total int, open boolean, at timestamptz, temp jsonb, place point, tags text[] not null, note text)`)
await database.query(sql`insert into thing values
  (1, 'alpha', 5, true, '2026-01-01T00:00:00Z', '25', '(1,1)', '{red,blue}', 'n'),
  (2, 'Beta', 10, false, '2026-02-01T00:00:00Z', '"25"', '(5,5)', '{red}', ''),
  (3, 'gamma', null, null, null, null, null, '{}', null),
  (4, 'it''s; drop', 20, true, '2026-03-01T00:00:00Z', '"warm"', '(9,9)', '{green}', 'm')`)

const COLUMNS = new Map<string, FilterColumn>([
  ['name', { type: 'text', value: sql`name` }],
  ['total', { type: 'number', value: sql`total` }],
  ['open', { type: 'boolean', value: sql`open` }],
  ['note', { type: 'text', value: sql`nullif(note, '')`, emptyIsNone: true }],
  ['at', { type: 'date', value: sql`at` }],
  ['temp', { type: 'any', value: sql`temp` }],
  ['place', { type: 'location', value: sql`place` }],
  [
    'tags[]',
    {
      type: 'text',
      value: sql`tag`,
      some: condition => sql`exists (select 1 from unnest(tags) as tag where ${condition})`,
    },
  ],
  [
    'id',
    {
      type: 'text',
      value: sql`id::text`,
      anyOf: (values: readonly FilterValue[]) => sql`id = any(${values.map(Number)}::int[])`,
    },
  ],
])

const types = (name: string): FieldType | undefined => COLUMNS.get(name)?.type

async function find(json: unknown, caseSensitive = true): Promise<number[]> {
  const condition = filterSql(parseFilter(json, types, { caseSensitive }), name => COLUMNS.get(name))
  return (await database.query<{ id: number }>(sql`select id from thing where ${condition} order by id`)).map(
    row => row.id,
  )
}

describe('a filter in PostgreSQL', () => {
  test.each<[unknown, number[]]>([
    [{}, [1, 2, 3, 4]],
    [{ eq: { name: 'alpha' } }, [1]],
    [{ eq: { name: "it's; drop" } }, [4]],
    [{ neq: { name: 'alpha' } }, [2, 3, 4]],
    [{ neq: { total: 5 } }, [2, 3, 4]],
    [{ in: { total: [5, '10'] } }, [1, 2]],
    [{ nin: { total: [5, 10] } }, [3, 4]],
    [{ gt: { total: 5 } }, [2, 4]],
    [{ gte: { total: 5 }, lt: { total: 20 } }, [1, 2]],
    [{ not: { gt: { total: 5 } } }, [1, 3]],
    [{ within: { total: [6, 20] } }, [2, 4]],
    [{ eq: { open: 'true' } }, [1, 4]],
    [{ exists: { open: false } }, [3]],
    [{ exists: { at: true } }, [1, 2, 4]],
    [{ lte: { at: '2026-02-01T01:00:00+01:00' } }, [1, 2]],
    [{ eq: { at: Date.UTC(2026, 2, 1) } }, [4]],
    [{ like: { at: '^2026-0[23]-01T00:00:00\\.000Z$' } }, [2, 4]],
    [{ like: { name: 'a$' } }, [1, 2, 3]],
    [{ like: { name: 'b' } }, []],
    [{ like: { total: '^.0$' } }, [2, 4]],
    [{ eq: { temp: 25 } }, [1]],
    [{ eq: { temp: '25' } }, [1, 2]],
    [{ gt: { temp: 20 } }, [1]],
    [{ gt: { temp: 'w' } }, [4]],
    [{ like: { temp: 'arm' } }, [4]],
    [
      {
        within: {
          place: {
            type: 'Polygon',
            coordinates: [
              [
                [0, 0],
                [6, 0],
                [6, 6],
                [0, 6],
                [0, 0],
              ],
            ],
          },
        },
      },
      [1, 2],
    ],
    [{ eq: { 'tags[]': 'red' } }, [1, 2]],
    [{ neq: { 'tags[]': 'red' } }, [3, 4]],
    [{ like: { 'tags[]': 'e{2}' } }, [4]],
    [{ exists: { 'tags[]': false } }, [3]],
    [{ eq: { note: '' } }, [2, 3]],
    [{ neq: { note: '' } }, [1, 4]],
    [{ in: { note: ['', 'n'] } }, [1, 2, 3]],
    [{ nin: { note: ['', 'n'] } }, [4]],
    [{ eq: { at: '' } }, [3]],
    [{ neq: { at: '' } }, [1, 2, 4]],
    [{ in: { at: ['2026-01-01', ''] } }, [1, 3]],
    [{ nin: { at: ['2026-01-01', ''] } }, [2, 4]],
    [{ eq: { name: '' } }, []],
    [{ eq: { id: '3' } }, [3]],
    [{ or: [{ eq: { id: '3' } }, { and: [{ eq: { open: true } }, { gt: { total: 5 } }] }] }, [3, 4]],
    [{ not: { or: [{ eq: { open: true } }, { eq: { name: 'Beta' } }] } }, [3]],
  ])('%j finds %j', async (json, ids) => {
    expect(await find(json)).toEqual(ids)
  })

  test('like ignores case where asked', async () => {
    expect(await find({ like: { name: '^b' } }, false)).toEqual([2])
  })

  test('a regular expression that is none is an error of its own class', async () => {
    expect(await find({ like: { name: '(' } }).catch(sqlState)).toBe('2201B')
  })

  test('values never stand in the text of the statement', () => {
    fc.assert(
      fc.property(
        // Without backslashes: what refers back is refused before.
        fc.string({ minLength: 3, maxLength: 20 }).map(text => `~${text.replaceAll(/[\0\\]/g, 'x')}`),
        text => {
          const filter = parseFilter(
            { or: [{ eq: { name: text } }, { like: { name: text } }, { gt: { temp: text } }] },
            types,
          )
          expect(render(filterSql(filter, name => COLUMNS.get(name))).text).not.toContain(text)
        },
      ),
    )
  })
})
