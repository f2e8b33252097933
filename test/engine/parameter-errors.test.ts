/** Which fields a refusal of parameters names. */
import { expect, test } from 'vitest'
import { catalogType } from '../../src/domain/catalog.ts'
import { DroverError } from '../../src/domain/errors.ts'
import { judgeParameters, judgeSchema } from '../../src/engine/parameter-judge.ts'

function told(parameters: Record<string, unknown>, type: { name: string; parameters: Record<string, unknown> }) {
  try {
    judgeParameters(type, parameters, 'p')
  } catch (error) {
    if (error instanceof DroverError) return error.context
    throw error
  }
  throw new Error('nothing was refused')
}

function named(properties: object, parameters: Record<string, unknown>, rest: object = {}): string[] {
  const type = { name: 'X', parameters: { type: 'object', properties, ...rest } }
  judgeSchema(type.parameters)
  return told(parameters, type).map(({ name }) => name)
}

test('every parameter at fault is named, with what is wrong with it', () => {
  const reboot = catalogType('REBOOT_EQUIPMENT')!
  expect(told({ type: 'X', foo: 1 }, reboot)).toEqual([
    { name: 'p.foo', value: 'must NOT have additional properties' },
    { name: 'p.type', value: 'must be one of HARDWARE, SOFTWARE' },
  ])
  expect(told({ speed: 1, tyep: 2 }, reboot).map(({ name }) => name)).toEqual(['p.speed', 'p.tyep'])
})

test('what is missing is named beside what is wrong, item by item', () => {
  const item = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } }
  expect(named({ list: { type: 'array', items: item } }, { list: [{}, { id: 'x' }, { id: 1 }, 7] })).toEqual([
    'p.list[0].id',
    'p.list[1].id',
    'p.list[3]',
  ])
})

test('a field that breaks several rules is named once', () => {
  expect(named({ a: { type: 'string', enum: ['x'], minLength: 9 } }, { a: 1 })).toEqual(['p.a'])
})

test('of a choice the member that was meant is named, beside what is wrong elsewhere', () => {
  const choice = [{ type: 'string' }, { type: 'object', properties: { level: { type: 'integer' } } }]
  const properties = { a: { anyOf: choice }, b: { type: 'integer' } }
  expect(named(properties, { a: { level: 'high' }, b: 'x' })).toEqual(['p.a.level', 'p.b'])
})

test('a choice of the whole hides nothing that is wrong beside it, nor does one behind references', () => {
  const size = { type: 'object', properties: { size: { type: 'integer' } } }
  const rest = {
    $defs: { size, sized: { allOf: [{ $ref: '#/$defs/size' }], required: ['size'] } },
    allOf: [
      { properties: { c: { type: 'integer' } } },
      { anyOf: [{ required: ['a'] }, { properties: { b: { $ref: '#/$defs/sized' } } }] },
    ],
  }
  expect(named({ d: { type: 'integer' } }, { b: { size: 'x' }, c: 'x', d: 'x' }, rest)).toEqual([
    'p.c',
    'p.b.size',
    'p.d',
  ])
})

test.each([
  [
    'that must be one of two and is both',
    { oneOf: [{ type: 'integer' }, { type: 'number' }, { const: 'x' }] },
    1,
    'p.a',
  ],
  ['that must contain something', { contains: { const: 1 } }, [2, 3], 'p.a'],
  ['with a member of a wrong name', { propertyNames: { pattern: '^x' } }, { y: 1 }, 'p.a.y'],
  ['that another member asks for', { dependencies: { b: ['c'] } }, { b: 1 }, 'p.a.c'],
  ['that a condition asks for', { if: { maxProperties: 0 }, else: { required: ['c'] } }, { b: 1 }, 'p.a.c'],
])('a parameter %s is named once', (_, schema, value, name) => {
  expect(named({ a: schema }, { a: value })).toEqual([name])
})

test('a refusal names at most twenty fields, and of parameters too large to go through twice the first', () => {
  const list = { list: { type: 'array', items: { type: 'integer' } } }
  expect(named(list, { list: Array.from({ length: 100 }, () => 'x') })).toHaveLength(20)
  expect(named(list, { list: Array.from({ length: 200_000 }, () => 'x') })).toEqual(['p.list[0]'])
})
