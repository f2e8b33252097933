import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import type { FieldType } from '../../src/domain/filter.ts'
import { parseSearch } from '../../src/domain/search.ts'

const FIELDS = new Map<string, FieldType>([
  ['jobs.id', 'text'],
  ['jobs.request.name', 'text'],
  ['jobTotal', 'number'],
])
const read = (body: unknown) => parseSearch(body, name => FIELDS.get(name))

function refusal(body: unknown): DroverError {
  try {
    read(body)
  } catch (error) {
    if (error instanceof DroverError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('a search', () => {
  test('asks for the first page of everything where it says nothing', () => {
    const all = { filter: { kind: 'everything' }, page: { number: 1, size: 1_000 }, sort: [], group: [], select: [] }
    expect(read(undefined)).toEqual(all)
    expect(read({ limit: { start: 0 } })).toEqual(all)
  })

  test('has a page by number or by cursor, sorted and grouped', () => {
    const body = {
      filter: { eq: { 'jobs.request.name': 'X' } },
      limit: { size: '10', start: 2 },
      sort: { parameters: [{ name: 'jobs.id', type: 'DESCENDING' }, { name: 'jobTotal' }] },
      group: { parameters: [{ name: 'jobs.request.name' }] },
    }
    expect(read(body)).toMatchObject({
      page: { number: 2, size: 10 },
      sort: [
        { field: 'jobs.id', descending: true },
        { field: 'jobTotal', descending: false },
      ],
      group: ['jobs.request.name'],
    })
    expect(read({ limit: { cursor: 'abc' } }).page).toMatchObject({ cursor: 'abc' })
  })

  test('selects fields by name, by parts and with aliases', () => {
    const select = [
      { name: 'jobTotal' },
      { name: 'jobs.id', fields: [{ field: 'value', alias: 'Job' }] },
      { name: 'jobs.request', fields: [{ field: 'name', alias: 'Operation' }, { field: 'name' }] },
    ]
    expect(read({ select }).select).toEqual([
      { field: 'jobTotal', alias: 'jobTotal' },
      { field: 'jobs.id', alias: 'Job' },
      { field: 'jobs.request.name', alias: 'Operation' },
      { field: 'jobs.request.name', alias: 'jobs.request.name' },
    ])
  })

  test.each([
    [{ filter: { eq: { what: 1 } } }],
    [{ sort: { parameters: [{ name: 'what' }] } }],
    [{ group: { parameters: [{ name: 'what' }] } }],
    [{ select: [{ name: 'what' }] }],
    [{ select: [{ name: 'what', fields: [] }] }],
  ])('refuses an unknown field in %j', body => {
    const error = refusal(body)
    expect([error.entry.code, error.context[0]?.name]).toEqual(['0x050014', 'what'])
  })

  test.each([
    [{ Filter: {} }, '0x010003', 'Filter'],
    [{ limit: { page: 1 } }, '0x010003', 'limit.page'],
    [{ sort: [] }, '0x010001', 'sort'],
    [{ sort: { parameters: [{ name: 'jobs.id', order: 1 }] } }, '0x010003', 'sort.parameters[0].order'],
    [{ sort: { parameters: [{ name: 'jobs.id', type: 'UP' }] } }, '0x010001', 'sort.parameters[0].type'],
    [{ sort: { parameters: [{}] } }, '0x010000', 'sort.parameters[0].name'],
    [{ limit: { size: 2_001 } }, '0x010001', 'limit.size'],
    [{ limit: { size: 0 } }, '0x010001', 'limit.size'],
    [{ limit: { start: -1 } }, '0x010001', 'limit.start'],
    [{ limit: { start: 1e10 } }, '0x010001', 'limit.start'],
    [{ limit: { start: 2, cursor: 'abc' } }, '0x010001', 'limit.cursor'],
    [{ select: [{ name: 1 }] }, '0x010001', 'select[0].name'],
    [{ select: [{ name: 'jobs.id', fields: [{ alias: 1 }] }] }, '0x010001', 'select[0].fields[0].alias'],
    [[], '0x010001', 'body'],
  ])('refuses %j', (body, code, field) => {
    const error = refusal(body)
    expect([error.entry.code, error.context[0]?.name]).toEqual([code, field])
  })

  test('is read or refused with a word, whatever the JSON', () => {
    const part = fc.oneof(fc.jsonValue(), fc.record({ parameters: fc.array(fc.record({ name: fc.jsonValue() })) }))
    const body = fc.oneof(
      fc.jsonValue(),
      fc.record(
        { filter: part, limit: part, sort: part, group: part, select: fc.oneof(part, fc.array(part)) },
        { requiredKeys: [] },
      ),
    )
    fc.assert(
      fc.property(body, json => {
        try {
          expect(read(json).page.size).toBeGreaterThan(0)
        } catch (error) {
          expect(error).toBeInstanceOf(DroverError)
        }
      }),
      { numRuns: 500 },
    )
  })
})
