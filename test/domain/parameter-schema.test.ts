/** What a parameter schema may say, before anything is judged by it. */
import { expect, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import { measureSchema } from '../../src/domain/parameter-schema.ts'

function refusal(schema: object): { name: string; value: unknown } {
  try {
    measureSchema(schema)
  } catch (error) {
    if (error instanceof DroverError) return error.context[0] as { name: string; value: unknown }
    throw error
  }
  throw new Error('nothing was refused')
}
const holding = (keywords: object, $schema?: string) => ({
  ...($schema !== undefined && { $schema }),
  type: 'object',
  properties: { a: keywords },
})

test.each([
  'http://json-schema.org/draft-06/schema#',
  'http://json-schema.org/draft-07/schema#',
  'https://json-schema.org/draft-07/schema',
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema#',
])('a schema may name the draft %s', $schema => {
  expect(() => measureSchema(holding({}, $schema))).not.toThrow()
})

test.each(['http://json-schema.org/draft-04/schema#', 'http://json-schema.org/schema#', 'mine', '', 7, null])(
  'a schema of another draft (%s) is refused, and told which there are',
  $schema => {
    const { name, value } = refusal({ $schema, type: 'object' })
    expect(name).toBe('parameters.$schema')
    expect(value).toContain('https://json-schema.org/draft/2020-12/schema')
  },
)

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'
const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema'
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'
test.each([
  ['prefixItems', [{}], undefined, DRAFT_2020],
  ['prefixItems', [{}], DRAFT_07, DRAFT_2020],
  ['prefixItems', [{}], DRAFT_2019, DRAFT_2020],
  ['minContains', 2, undefined, DRAFT_2019],
  ['maxContains', 2, undefined, DRAFT_2019],
  ['dependentRequired', { b: ['c'] }, undefined, DRAFT_2019],
  ['dependentSchemas', { b: {} }, undefined, DRAFT_2019],
  ['unevaluatedProperties', false, undefined, DRAFT_2019],
  ['unevaluatedItems', false, undefined, DRAFT_2019],
  ['items', [{}], DRAFT_2020, 'prefixItems'],
  ['additionalItems', false, DRAFT_2020, 'items'],
])(
  '%s (%j) in a schema of draft %s would be passed over: it is refused, and what to write is said',
  (keyword, value, draft, word) => {
    const told = refusal(holding({ [keyword]: value }, draft))
    expect(told.name).toBe(`parameters.properties.a.${keyword}`)
    expect(told.value).toContain(word)
  },
)

test('members that are named like keywords of other drafts are members', () => {
  const properties = { prefixItems: { type: 'string' }, unevaluatedItems: { default: { minContains: 1 } } }
  expect(() => measureSchema({ type: 'object', properties })).not.toThrow()
})

test.each([
  [{ properties: { next: { $ref: '#' } } }, 'parameters.properties.next.$ref'],
  [
    {
      $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } },
      properties: { first: { $ref: '#/$defs/node' } },
    },
    'parameters.$defs.node.properties.next.$ref',
  ],
  [
    { $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { items: { $ref: '#/$defs/a' } } } },
    'parameters.$defs.a.anyOf[0].$ref.items.$ref',
  ],
])('a schema that refers to itself is told so, at the first place that does: %j', (members, name) => {
  expect(refusal({ type: 'object', ...members })).toEqual({ name, value: 'refers to itself' })
})

test('the same schema may be referred to in many places', () => {
  const size = { $ref: '#/$defs/size' }
  const schema = {
    type: 'object',
    $defs: { size: {} },
    properties: { a: size, b: size, c: { properties: { d: size } } },
  }
  expect(() => measureSchema(schema)).not.toThrow()
})
