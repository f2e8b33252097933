import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeParameters, encodeParameters, readParameters } from '../../src/contract/device-parameters.ts'

test('every parameter object survives the typed list and the wire', () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.string({ minLength: 1 }),
        fc.jsonValue().map(value => JSON.parse(JSON.stringify(value))),
      ),
      parameters => {
        const wire = JSON.parse(JSON.stringify(encodeParameters(parameters)))
        const decoded = decodeParameters(wire)
        expect(decoded.ok && JSON.stringify(decoded.value)).toBe(JSON.stringify(parameters))
      },
    ),
  )
})

test('each kind of value travels under the name of its kind', () => {
  const parameters = { a: 'x', b: 1.5, c: false, d: [1, { e: 2 }], f: { g: [] }, h: null }
  expect(encodeParameters(parameters)).toEqual([
    { name: 'a', type: 'string', value: { string: 'x' } },
    { name: 'b', type: 'number', value: { number: 1.5 } },
    { name: 'c', type: 'boolean', value: { boolean: false } },
    { name: 'd', type: 'array', value: { array: [1, { e: 2 }] } },
    { name: 'f', type: 'object', value: { object: { g: [] } } },
    { name: 'h', type: 'object', value: { object: null } },
  ])
})

test('a name such as __proto__ is a parameter like any other', () => {
  const decoded = decodeParameters([{ name: '__proto__', type: 'object', value: { object: { admin: true } } }])
  expect(decoded.ok && Object.hasOwn(decoded.value, '__proto__')).toBe(true)
  expect(decoded.ok && 'admin' in decoded.value).toBe(false)
})

test('an entry whose type is missing or wrong is read by the one member of its value', () => {
  expect(decodeParameters([{ name: 'a', value: { number: 3 } }])).toEqual({ ok: true, value: { a: 3 } })
  expect(decodeParameters([{ name: 'a', type: 'integer', value: { number: 3 } }])).toEqual({
    ok: true,
    value: { a: 3 },
  })
})

test.each([
  [[7], 'parameters[0]'],
  [[{ value: { string: 'x' } }], 'parameters[0].name'],
  [
    [
      { name: 'a', value: { string: 'x' } },
      { name: 'a', value: { string: 'y' } },
    ],
    'parameters[1].name',
  ],
  [[{ name: 'a', type: 'string' }], 'parameters[0].value'],
  [[{ name: 'a', type: 'string', value: {} }], 'parameters[0].value'],
  [[{ name: 'a', value: { string: 'x', number: 1 } }], 'parameters[0].value'],
])('the list %j is refused by the field at fault', (list, field) => {
  expect(decodeParameters(list)).toMatchObject({ ok: false, field })
})

test('parameters are read in whichever form they came, and none is none', () => {
  expect(readParameters({ type: 'HARDWARE' })).toEqual({ ok: true, value: { type: 'HARDWARE' } })
  expect(readParameters([{ name: 'type', type: 'string', value: { string: 'HARDWARE' } }])).toEqual({
    ok: true,
    value: { type: 'HARDWARE' },
  })
  expect(readParameters(null)).toEqual({ ok: true, value: {} })
  expect(readParameters('all', 'job.request.parameters')).toMatchObject({ ok: false, field: 'job.request.parameters' })
})
