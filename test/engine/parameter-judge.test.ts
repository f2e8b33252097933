import { expect, test } from 'vitest'
import { CATALOG, catalogType } from '../../src/domain/catalog.ts'
import { DroverError } from '../../src/domain/errors.ts'
import { judgeSchema, judgeParameters as judgeWithin } from '../../src/engine/parameter-judge.ts'

const judgeParameters = (type: Parameters<typeof judgeWithin>[0], parameters: Record<string, unknown>) =>
  judgeWithin(type, parameters, 'job.request.parameters')
const reboot = catalogType('REBOOT_EQUIPMENT')!

function refusal(work: () => unknown): DroverError {
  try {
    work()
  } catch (error) {
    if (error instanceof DroverError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

test('what is left out takes its default', () => {
  expect(judgeParameters(reboot, {})).toEqual({ type: 'HARDWARE' })
})

test('a value outside the enumeration is refused and named', () => {
  const { entry, context } = refusal(() => judgeParameters(reboot, { type: 'GENTLE' }))
  expect(entry.kind).toBe('invalid')
  expect(context[0]!.name).toBe('job.request.parameters.type')
})

test('an unknown parameter is refused and named where the schema forbids it', () => {
  const { context } = refusal(() => judgeParameters(reboot, { type: 'HARDWARE', speed: 1 }))
  expect(context[0]!.name).toBe('job.request.parameters.speed')
})

test('an update without its elements misses its bundle', () => {
  for (const parameters of [{}, { bundleName: 'b' }, { deploymentElements: [] }]) {
    expect(refusal(() => judgeParameters(catalogType('UPDATE')!, parameters)).entry.code).toBe('0x020006')
  }
})

test('the caller keeps its parameters as they were', () => {
  const parameters = Object.freeze({})
  judgeParameters(reboot, parameters)
  expect(parameters).toEqual({})
})

test('every schema of the catalog is one that may be stored', () => {
  for (const type of CATALOG) expect(() => judgeSchema(type.parameters), type.name).not.toThrow()
})

function nested(depth: number): object {
  return depth === 0 ? { type: 'string' } : { type: 'object', properties: { deeper: nested(depth - 1) } }
}

test.each([
  ['not an object', [], 'parameters'],
  ['not of type object', { type: 'string' }, 'parameters.type'],
  ['no schema', { type: 'object', properties: { a: { type: 'colour' } } }, 'parameters'],
  ['too deep', nested(30), 'parameters.'],
  ['with a reference', { type: 'object', properties: { a: { $ref: '#' } } }, 'parameters.properties.a.$ref'],
  [
    'with a huge enumeration',
    { type: 'object', properties: { a: { enum: Array.from({ length: 5_000 }, (_, i) => i) } } },
    'parameters.properties.a.enum',
  ],
  [
    'with a pattern that cannot be run in linear time',
    { type: 'object', properties: { a: { type: 'string', pattern: '(a)\\1' } } },
    'parameters',
  ],
])('a schema that is %s is refused when it is stored', (_, schema, name) => {
  expect(refusal(() => judgeSchema(schema)).context[0]!.name).toContain(name)
})

test('a pattern that would run for ever elsewhere is answered at once', () => {
  const type = { name: 'X', parameters: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } } }
  judgeSchema(type.parameters)
  expect(refusal(() => judgeParameters(type, { a: `${'a'.repeat(50_000)}!` })).entry.code).toBe('0x020003')
})

test('a schema may refer into itself, as long as it does not go round in a circle', () => {
  const type = {
    name: 'X',
    parameters: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { size: { type: 'integer', minimum: 1 } },
      properties: { a: { $ref: '#/$defs/size' } },
    },
  }
  judgeSchema(type.parameters)
  expect(judgeParameters(type, { a: 1 })).toEqual({ a: 1 })
  expect(refusal(() => judgeParameters(type, { a: 0 })).context[0]!.name).toBe('job.request.parameters.a')
})

const doubling = Object.fromEntries(
  Array.from({ length: 40 }, (_, i) => [
    `l${i}`,
    { allOf: [{ $ref: `#/$defs/l${i + 1}` }, { $ref: `#/$defs/l${i + 1}` }] },
  ]),
)
test.each([
  ['round in a circle', { type: 'object', allOf: [{ $ref: '#' }] }, '$ref'],
  [
    'to elsewhere',
    { type: 'object', properties: { a: { $ref: 'http://x.example/s' } } },
    'parameters.properties.a.$ref',
  ],
  ['to nothing', { type: 'object', properties: { a: { $ref: '#/$defs/b' } } }, 'parameters.properties.a.$ref'],
  ['twice at every level', { type: 'object', $defs: { ...doubling, l40: {} }, $ref: '#/$defs/l0' }, 'parameters'],
])('a schema that refers %s is refused', (_, schema, name) => {
  expect(refusal(() => judgeSchema(schema)).context[0]!.name).toContain(name)
})

test.each([
  ['answers later', { type: 'object', $async: true }],
  ['gives itself a name', { type: 'object', properties: { a: { $id: 'http://x.example/s' } } }],
  ['has a pattern whose program is huge', { type: 'object', properties: { a: { pattern: '[a-z]{900}'.repeat(40) } } }],
  [
    'has thousands of members',
    { type: 'object', properties: Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [i, {}])) },
  ],
])('a schema that %s is refused', (_, schema) => {
  expect(refusal(() => judgeSchema(schema)).entry.code).toBe('0x010001')
})

test('members that are named like keywords are members', () => {
  const properties = { $ref: { type: 'string' }, pattern: { type: 'object' }, enum: { type: 'array' } }
  expect(() => judgeSchema({ type: 'object', properties })).not.toThrow()
})

const many = Array.from({ length: 60_000 }, (_, i) => ({ i }))
const branches = Array.from({ length: 250 }, (_, i) => ({ const: { i: -i } }))
test.each([
  ['items that must differ', { type: 'array', uniqueItems: true }, [...many, { i: 1 }]],
  ['many choices for many items', { type: 'array', items: { anyOf: branches } }, many],
  [
    'a pattern and many long texts',
    { type: 'array', items: { pattern: '^(a|b|ab)*c$' } },
    many.map(() => 'ab'.repeat(50)),
  ],
  [
    'defaults larger than what was sent',
    { type: 'array', items: { type: 'object', properties: { t: { default: 'x'.repeat(50_000) } } } },
    many.map(() => ({})),
  ],
])('%s are judged within a bound', (_, schema, value) => {
  const type = { name: 'X', parameters: { type: 'object', properties: { a: schema } } }
  judgeSchema(type.parameters)
  const before = process.cpuUsage()
  expect(refusal(() => judgeParameters(type, { a: value })).entry.code).toBe('0x020003')
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(3_000)
})

test('items that hold the same in another order are the same', () => {
  const type = { name: 'X', parameters: { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } } }
  expect(
    refusal(() =>
      judgeParameters(type, {
        a: [
          { b: 1, c: [2] },
          { c: [2], b: 1 },
        ],
      }),
    ).context,
  ).toEqual([{ name: 'job.request.parameters.a', value: 'must not hold the same item twice' }])
  expect(judgeParameters(type, { a: [{ b: 1 }, { b: 2 }] })).toEqual({ a: [{ b: 1 }, { b: 2 }] })
})

const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema'
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'
const positions = [{ type: 'string' }, { type: 'integer' }]
const pair = { type: 'array', items: positions, additionalItems: false }
test.each([
  ['draft-07', 'http://json-schema.org/draft-07/schema#', { a: pair }, { a: ['x', 'y'] }, 'a[1]'],
  ['no draft', undefined, { a: pair }, { a: ['x', 1, 2] }, 'a'],
  ['2019-09', DRAFT_2019, { a: pair }, { a: ['x', 'y'] }, 'a[1]'],
  ['2019-09', DRAFT_2019, { a: { dependentRequired: { b: ['c'] } } }, { a: { b: 1 } }, 'a.c'],
  ['2019-09', DRAFT_2019, { a: { contains: { const: 1 }, minContains: 2 } }, { a: [1, 2] }, 'a'],
  ['2019-09', DRAFT_2019, { a: { properties: { b: {} }, unevaluatedProperties: false } }, { a: { c: 1 } }, 'a.c'],
  ['2020-12', DRAFT_2020, { a: { prefixItems: positions, items: false } }, { a: ['x', 'y'] }, 'a[1]'],
  ['2020-12', DRAFT_2020, { a: { prefixItems: positions, unevaluatedItems: false } }, { a: ['x', 1, 2] }, 'a'],
  ['2020-12', DRAFT_2020, { a: { dependentSchemas: { b: { required: ['c'] } } } }, { a: { b: 1 } }, 'a.c'],
  ['2020-12', DRAFT_2020, { a: { type: 'array', uniqueItems: true } }, { a: [1, 1] }, 'a'],
])('a schema of %s (%s) is judged by that draft: %j', (_, $schema, properties, parameters, name) => {
  const type = { name: 'X', parameters: { ...($schema && { $schema }), type: 'object', properties } }
  judgeSchema(type.parameters)
  expect(refusal(() => judgeParameters(type, parameters)).context[0]!.name).toBe(`job.request.parameters.${name}`)
})

test('what stands in a keyword of a later draft is measured like everything else', () => {
  const hostile = { type: 'string', pattern: '(a)\\1' }
  for (const keywords of [
    { prefixItems: [hostile] },
    { unevaluatedItems: hostile },
    { dependentSchemas: { b: hostile } },
  ]) {
    const schema = { $schema: DRAFT_2020, type: 'object', properties: { a: keywords } }
    expect(refusal(() => judgeSchema(schema)).entry.code).toBe('0x010001')
  }
})

test('a format says what is meant, and refuses nothing', () => {
  const type = { name: 'X', parameters: { type: 'object', properties: { a: { type: 'string', format: 'ipv4' } } } }
  judgeSchema(type.parameters)
  expect(judgeParameters(type, { a: 'the gateway' })).toEqual({ a: 'the gateway' })
})
