import { expect, test } from 'vitest'
import { CATALOG, catalogType } from '../../src/domain/catalog.ts'
import { DroverError } from '../../src/domain/errors.ts'
import { judgeParameters, judgeSchema } from '../../src/engine/parameter-judge.ts'

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
