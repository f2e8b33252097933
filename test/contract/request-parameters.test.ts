import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeParameters } from '../../src/contract/device-parameters.ts'
import { readRequestParameters } from '../../src/contract/request-parameters.ts'

const one = (entry: object) =>
  readRequestParameters([{ name: 'b', type: 'boolean', value: { boolean: true }, ...entry }], 'p')

test('whatever an object holds may be sent as the typed list, too', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue()), parameters => {
      const object: typeof parameters = JSON.parse(JSON.stringify(parameters))
      const typed = readRequestParameters(encodeParameters(object), 'p')
      expect(typed).toEqual({ ok: true, value: object })
      expect(readRequestParameters(object, 'p')).toEqual(typed)
    }),
  )
})

test('the type may be left out, and kinds that do not apply may be null', () => {
  const read = { ok: true, value: { b: true } }
  expect(one({})).toEqual(read)
  expect(one({ type: undefined })).toEqual(read)
  expect(one({ value: { boolean: true, string: null, number: null } })).toEqual(read)
})

test.each([
  ['beside name, type and value', { q: 1 }, 'p[0].q'],
  ['beside the kinds of a value', { value: { boolean: true, date: 'x' } }, 'p[0].value.date'],
])('a member %s is unknown', (_, entry, field) => {
  expect(one(entry)).toMatchObject({ ok: false, field, isUnknown: true })
})

test.each([
  ['is no such type', { type: 'integer' }, 'p[0].type'],
  ['holds another kind than its name says', { value: { boolean: 'x' } }, 'p[0].value.boolean'],
  ['holds null under a kind', { value: { boolean: null } }, 'p[0].value.boolean'],
  ['holds a list under object', { type: 'object', value: { object: [] } }, 'p[0].value.object'],
  ['stands under another kind than the type', { value: { string: 'x' } }, 'p[0].value.string'],
  ['has one of another kind beside it', { value: { boolean: true, string: 'x' } }, 'p[0].value.string'],
  ['has no name', { name: '' }, 'p[0].name'],
])('a value that %s is refused by its field', (_, entry, field) => {
  const reading = one(entry)
  expect(reading).toMatchObject({ ok: false, field })
  expect(reading).not.toHaveProperty('isUnknown')
})
