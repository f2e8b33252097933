import { describe, expect, test } from 'vitest'
import { parseDeviceResponse } from '../../src/contract/device.ts'
import { reportIn } from '../../src/contract/device-exchange.ts'
import { KEPT_MESSAGE_CHARACTERS_MAX } from '../../src/domain/kept-message.ts'

function reported(message: unknown) {
  const raw = JSON.stringify(message)
  const reading = parseDeviceResponse(raw)
  if (!reading.ok) throw new Error(reading.reason)
  return reportIn(reading.value, raw)
}
const acknowledgement = { id: 'op-1', deviceId: 'pump-1', name: 'UPDATE', timestamp: 5 }

describe('an acknowledgement', () => {
  test.each([
    { operation: { response: acknowledgement } },
    { version: '8.0', operation: { response: { ...acknowledgement, version: '8.0' } } },
    { operation: { response: { ...acknowledgement, resultCode: '', resultDescription: '', steps: [], other: null } } },
  ])('like %j says no more than that', message => {
    expect(reported(message)).not.toHaveProperty('saysMore')
  })

  test.each([
    { operation: { response: { ...acknowledgement, variableList: [{ name: 'a', value: 1 }] } } },
    { operation: { response: { ...acknowledgement, resultDescription: 'on it' } } },
    { operation: { response: { ...acknowledgement, foo: 'bar' } } },
    { operation: { response: acknowledgement, foo: 0 } },
    { foo: false, operation: { response: acknowledgement } },
  ])('like %j says more', message => {
    expect(reported(message)).toMatchObject({ saysMore: true, raw: JSON.stringify(message) })
  })
})

test('a message is kept up to its bound, without half a character at the end', () => {
  const reading = parseDeviceResponse('{"operation":{"response":{"id":"op-1"}}}')
  const whole = 'x'.repeat(KEPT_MESSAGE_CHARACTERS_MAX - 1)
  expect(reading.ok && reportIn(reading.value, `${whole}y`).raw).toBe(`${whole}y`)
  expect(reading.ok && reportIn(reading.value, `${whole}😀`).raw).toBe(whole)
})
