import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import {
  FILTER_CONDITIONS_MAX,
  FILTER_DEPTH_MAX,
  FILTER_PATTERN_MAX,
  FILTER_VALUES_MAX,
  type FieldType,
  filterFields,
  parseFilter,
} from '../../src/domain/filter.ts'

const FIELDS = new Map<string, FieldType>([
  ['name', 'text'],
  ['total', 'number'],
  ['open', 'boolean'],
  ['endedAt', 'date'],
  ['temp', 'any'],
  ['place', 'location'],
])
const types = (name: string) => FIELDS.get(name)
const read = (json: unknown) => parseFilter(json, types)

/** The error that reading throws. */
function refusal(json: unknown): DroverError {
  try {
    read(json)
  } catch (error) {
    if (error instanceof DroverError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('reading a filter', () => {
  test.each([undefined, null, {}, { and: [] }])('%j matches everything', json => {
    expect(read(json)).toEqual({ kind: 'everything' })
  })

  test('a value takes the type of its field', () => {
    expect(read({ eq: { total: '12' } })).toEqual({ kind: 'anyOf', field: 'total', values: [12] })
    expect(read({ eq: { name: 12 } })).toEqual({ kind: 'anyOf', field: 'name', values: ['12'] })
    expect(read({ eq: { open: 'true' } })).toEqual({ kind: 'anyOf', field: 'open', values: [true] })
    expect(read({ eq: { temp: 12 } })).toEqual({ kind: 'anyOf', field: 'temp', values: [12] })
    expect(read({ gt: { endedAt: '2026-01-02T03:04:05+01:00' } })).toMatchObject({
      value: Date.UTC(2026, 0, 2, 2, 4, 5),
    })
    expect(read({ gt: { endedAt: '2026-01-02' } })).toMatchObject({ value: Date.UTC(2026, 0, 2) })
  })

  test('a date that is not there is asked for as it reads, by an empty text', () => {
    expect(read({ eq: { endedAt: '' } })).toEqual({ kind: 'anyOf', field: 'endedAt', values: [''] })
  })

  test('neq and nin are the contrary of eq and in', () => {
    expect(read({ neq: { name: 'a' } })).toEqual({ kind: 'not', part: read({ eq: { name: 'a' } }) })
    expect(read({ nin: { name: ['a', 'b'] } })).toEqual({ kind: 'not', part: read({ in: { name: ['a', 'b'] } }) })
  })

  test('several fields in one leaf, and several operators in one node, mean and', () => {
    const both = read({ and: [{ eq: { name: 'a' } }, { eq: { total: 1 } }] })
    expect(read({ eq: { name: 'a', total: 1 } })).toEqual(both)
    expect(read({ eq: { name: 'a' }, gt: { total: 1 } })).toMatchObject({ kind: 'and' })
  })

  test('exists takes true and false', () => {
    expect(read({ exists: { name: true } })).toEqual({ kind: 'exists', field: 'name' })
    expect(read({ exists: { name: false } })).toEqual({ kind: 'not', part: { kind: 'exists', field: 'name' } })
  })

  test('within is a range with both ends, or a polygon for a location', () => {
    expect(read({ within: { total: [1, 2] } })).toEqual(read({ and: [{ gte: { total: 1 } }, { lte: { total: 2 } }] }))
    expect(read({ within: { total: { from: 1, to: 2 } } })).toEqual(read({ within: { total: [1, 2] } }))
    const ring = [
      [0, 0],
      [1, 0],
      [1, 1],
    ]
    expect(read({ within: { place: { type: 'Polygon', coordinates: [ring] } } })).toEqual({
      kind: 'inside',
      field: 'place',
      ring,
    })
  })

  test.each(['(a)\\1', '^(.+)(.+)\\2\\1$', '\\\\\\1', '[\\]\\1', '(?b)\\(a\\)\\1', 'x\\12'])(
    'a pattern that refers back is refused, since looking for it may take for ever: %s',
    pattern => {
      expect(refusal({ not: { like: { name: pattern } } })).toMatchObject({
        entry: { code: '0x050010', kind: 'invalid' },
        context: [{ name: 'filter.not.like.name', value: expect.stringContaining('back-reference') }],
      })
    },
  )

  test.each(['\\\\1', 'a1', '\\d{1,9}', '\\x41', '\\012', '1\\.2', '(a)(b)\\'])(
    'a digit that refers to nothing is taken: %s',
    pattern => {
      expect(read({ like: { name: pattern } })).toMatchObject({ pattern })
    },
  )

  test('like is case-sensitive unless told', () => {
    expect(read({ like: { name: '^a' } })).toMatchObject({ pattern: '^a', caseSensitive: true })
    expect(parseFilter({ like: { name: 'a' } }, types, { caseSensitive: false })).toMatchObject({
      caseSensitive: false,
    })
  })

  test('the fields of a filter are known, each once', () => {
    const filter = read({ or: [{ eq: { name: 'a' } }, { not: { gt: { total: 1 } } }, { like: { name: 'x' } }] })
    expect(filterFields(filter)).toEqual(['name', 'total'])
  })
})

describe('refusing a filter', () => {
  test('an unknown field is refused by name', () => {
    for (const json of [{ eq: { what: 1 } }, { and: [{ not: { exists: { what: true } } }] }, { like: { what: 'x' } }]) {
      const error = refusal(json)
      expect(error.entry.code).toBe('0x050014')
      expect(error.entry.message).toBe('Field in filter unknown')
      expect(error.context).toEqual([{ name: 'what' }])
    }
  })

  test.each([
    ['text', 'filter'],
    [[], 'filter'],
    [{ equals: { name: 'a' } }, 'filter.equals'],
    [{ and: { eq: { name: 'a' } } }, 'filter.and'],
    [{ or: [] }, 'filter.or'],
    [{ eq: {} }, 'filter.eq'],
    [{ eq: 'name' }, 'filter.eq'],
    [{ not: [] }, 'filter.not'],
    [{ eq: { name: null } }, 'filter.eq.name'],
    [{ eq: { name: { a: 1 } } }, 'filter.eq.name'],
    [{ eq: { name: 'a\u0000b' } }, 'filter.eq.name'],
    [{ eq: { name: 'x'.repeat(5_000) } }, 'filter.eq.name'],
    [{ and: [{ eq: { total: 'many' } }] }, 'filter.and[0].eq.total'],
    [{ eq: { open: 1 } }, 'filter.eq.open'],
    [{ gt: { open: true } }, 'filter.gt.open'],
    [{ gt: { endedAt: 'yesterday' } }, 'filter.gt.endedAt'],
    [{ gt: { endedAt: '' } }, 'filter.gt.endedAt'],
    [{ within: { endedAt: ['', ''] } }, 'filter.within.endedAt[0]'],
    [{ in: { name: 'a' } }, 'filter.in.name'],
    [{ in: { name: [] } }, 'filter.in.name'],
    [{ in: { name: Array(FILTER_VALUES_MAX + 1).fill('a') } }, 'filter.in.name'],
    [{ in: { total: [1, 'x'] } }, 'filter.in.total[1]'],
    [{ like: { name: 'x'.repeat(FILTER_PATTERN_MAX + 1) } }, 'filter.like.name'],
    [{ exists: { name: 1 } }, 'filter.exists.name'],
    [{ within: { total: [1] } }, 'filter.within.total'],
    [{ within: { place: { type: 'Point', coordinates: [1, 2] } } }, 'filter.within.place'],
    [{ eq: { place: 'here' } }, 'filter.eq.place'],
  ])('%j is refused at %s', (json, path) => {
    const error = refusal(json)
    expect(error.entry.code).toBe('0x050010')
    expect(error.context[0]?.name).toBe(path)
  })

  test('depth and number of conditions are bounded', () => {
    const nested = (depth: number): unknown => (depth === 0 ? { eq: { name: 'a' } } : { not: nested(depth - 1) })
    expect(read(nested(FILTER_DEPTH_MAX - 1))).toMatchObject({ kind: 'not' })
    expect(refusal(nested(FILTER_DEPTH_MAX)).message).toContain('deeper')
    const wide = (count: number) => ({ or: Array.from({ length: count }, () => ({ eq: { name: 'a' } })) })
    expect(read(wide(FILTER_CONDITIONS_MAX))).toMatchObject({ kind: 'or' })
    expect(refusal(wide(FILTER_CONDITIONS_MAX + 1)).message).toContain('more than')
    expect(refusal({ and: [wide(150), wide(150)] }).message).toContain('more than')
  })
})

test('any JSON is read or refused with a word, never a fault', () => {
  const operator = fc.constantFrom('eq', 'neq', 'like', 'gt', 'in', 'nin', 'exists', 'within', 'what')
  const { node } = fc.letrec<{ node: unknown }>(tie => ({
    node: fc.oneof(
      { maxDepth: 6 },
      fc.jsonValue(),
      fc.dictionary(operator, fc.dictionary(fc.constantFrom(...FIELDS.keys(), 'other'), fc.jsonValue())),
      fc.record({ and: fc.array(tie('node')) }),
      fc.record({ or: fc.array(tie('node')) }),
      fc.record({ not: tie('node') }),
    ),
  }))
  let readWell = 0
  fc.assert(
    fc.property(node, json => {
      try {
        for (const name of filterFields(read(json))) expect(FIELDS.has(name)).toBe(true)
        readWell++
      } catch (error) {
        expect(error).toBeInstanceOf(DroverError)
        expect((error as DroverError).context.length).toBe(1)
      }
    }),
    { numRuns: 300 },
  )
  expect(readWell).toBeGreaterThan(0)
})
