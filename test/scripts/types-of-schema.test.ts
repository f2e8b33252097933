/** How schemas are written as types. */
import { expect, test } from 'vitest'
import { definitionOf, type Schema, typeOf } from '../../scripts/types-of-schema.ts'

test.each<[string, Schema, string]>([
  ['plain kinds', { type: 'integer' }, 'number'],
  ['fixed values', { enum: ['A', 1, null] }, '"A" | 1 | null'],
  [
    'a list of alternatives',
    { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
    '(string | null)[]',
  ],
  [
    'members, optional unless required',
    { type: 'object', required: ['a'], properties: { a: {}, 'b-c': {} } },
    '{ a: unknown; "b-c"?: unknown }',
  ],
  ['an open record', { type: 'object', additionalProperties: { type: 'number' } }, '{ [name: string]: number }'],
  [
    'named members beside open ones',
    {
      type: 'object',
      required: ['count'],
      properties: { count: { type: 'integer' } },
      additionalProperties: { type: 'string' },
    },
    '{ count: number; [name: string]: string | number }',
  ],
  ['all of several', { allOf: [{ type: 'string' }, { enum: ['a', 'b'] }] }, 'string & ("a" | "b")'],
  [
    'a list of what is all of several',
    {
      type: 'array',
      items: {
        allOf: [
          { type: 'object', properties: { a: {} } },
          { type: 'object', additionalProperties: {} },
        ],
      },
    },
    '({ a?: unknown } & { [name: string]: unknown })[]',
  ],
  ['a reference, by its last word', { $ref: '#/components/schemas/ErrorBody' }, 'ErrorBody'],
  ['nothing said', {}, 'unknown'],
])('%s', (_what, schema, type) => {
  expect(typeOf(schema)).toBe(type)
})

test('what has a name is written by its name, and defined by what it is made of', () => {
  const inner = { type: 'object', properties: { a: { type: 'string' } } }
  const outer = { type: 'object', properties: { inner } }
  const names = new Map([
    [definitionOf(inner), 'Inner'],
    [definitionOf(outer), 'Outer'],
  ])
  expect(typeOf(outer, names)).toBe('Outer')
  expect(definitionOf(outer, names)).toBe('{ inner?: Inner }')
})

test('a description stands as a comment that it cannot leave', () => {
  const schema = { type: 'object', properties: { a: { description: 'what */ is', type: 'string' } } }
  expect(typeOf(schema)).toBe('{ /** what *\\/ is */ a?: string }')
})
