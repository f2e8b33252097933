import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  parseDeviceResponse,
  readDeviceRequest,
  readDeviceResponse,
  writeDeviceRequest,
  writeDeviceResponse,
} from '../../src/contract/device.ts'
import { readCollectDmm, readCollectIot } from '../../src/contract/device-collect.ts'

const sentAt = Date.UTC(2026, 2, 1, 12)

describe('a request to a device', () => {
  test('carries its parameters as named, typed values and is read back as it was meant', () => {
    const request = {
      id: 'op-7',
      name: 'REBOOT_EQUIPMENT',
      deviceId: 'pump-1',
      parameters: { type: 'SOFTWARE', force: true },
    }
    const message = writeDeviceRequest({ ...request, form: 'typed', sentAt })
    expect(message).toEqual({
      operation: {
        request: {
          timestamp: sentAt,
          deviceId: 'pump-1',
          name: 'REBOOT_EQUIPMENT',
          parameters: [
            { name: 'type', type: 'string', value: { string: 'SOFTWARE' } },
            { name: 'force', type: 'boolean', value: { boolean: true } },
          ],
          id: 'op-7',
        },
      },
    })
    expect(readDeviceRequest(message)).toEqual({ ok: true, value: { ...request, sentAt } })
  })

  test('carries a plain object for a device provisioned so', () => {
    const message = writeDeviceRequest({
      id: 'op-8',
      name: 'REBOOT_EQUIPMENT',
      deviceId: 'pump-1',
      parameters: { type: 'HARDWARE' },
      form: 'object',
      sentAt,
    })
    expect(message.operation.request.parameters).toEqual({ type: 'HARDWARE' })
  })

  test('names the entity beside the device only where the two differ', () => {
    const request = {
      id: 'op-9',
      name: 'SIM_REPLACEMENT',
      deviceId: 'pump-1',
      parameters: {},
      form: 'typed',
      sentAt,
    } as const
    expect(writeDeviceRequest({ ...request, entityId: 'sim-4' }).operation.request.entityId).toBe('sim-4')
    expect(writeDeviceRequest({ ...request, entityId: 'pump-1' }).operation.request).not.toHaveProperty('entityId')
  })

  test('without id or name is refused by the field at fault', () => {
    expect(readDeviceRequest({ operation: { request: { name: 'X' } } })).toMatchObject({
      field: 'operation.request.id',
    })
    expect(readDeviceRequest({ operation: { request: { id: 'x', name: '' } } })).toMatchObject({
      ok: false,
      field: 'operation.request.name',
    })
  })
})

describe('a response of a device', () => {
  const response = (members: object) => ({ operation: { response: { id: 'op-1', ...members } } })

  test('is read with its result, its steps and its own clock', () => {
    const message = writeDeviceResponse({
      id: 'op-1',
      deviceId: 'pump-1',
      timestamp: sentAt,
      name: 'UPDATE',
      resultCode: 'SUCCESSFUL',
      resultDescription: 'done',
      steps: [{ name: 'ENDUPDATE', title: 'End', timestamp: sentAt - 5, result: 'SUCCESSFUL', description: 'ok' }],
      variableList: [{ name: 'a', value: 1 }],
    })
    expect(readDeviceResponse(message)).toEqual({
      ok: true,
      value: {
        operationId: 'op-1',
        deviceId: 'pump-1',
        name: 'UPDATE',
        at: sentAt,
        resultCode: 'SUCCESSFUL',
        resultDescription: 'done',
        steps: [{ name: 'ENDUPDATE', title: 'End', at: sentAt - 5, result: 'SUCCESSFUL', description: 'ok' }],
        variableList: [{ name: 'a', value: 1 }],
        message,
      },
    })
  })

  test.each([
    ['without version, timestamp, name or steps', {}, { operationId: 'op-1', steps: [] }],
    ['with everything null', { timestamp: null, resultCode: null, steps: null }, { operationId: 'op-1', steps: [] }],
    ['with a result nobody knows', { resultCode: 'MELTED' }, { resultCode: 'MELTED' }],
    ['with a result that is a number', { resultCode: 7 }, { resultCode: '7' }],
    ['with a timestamp in a text', { timestamp: `${sentAt}` }, { at: sentAt }],
    ['with an ISO timestamp and offset', { timestamp: '2026-03-01T14:00:00+02:00' }, { at: sentAt }],
    ['with an ISO timestamp without offset, which is UTC', { timestamp: '2026-03-01T12:00:00' }, { at: sentAt }],
    ['with the day that a leap year has more', { timestamp: '2028-02-29' }, { at: Date.UTC(2028, 1, 29) }],
    ['with a step that has no result yet', { steps: [{ name: 'A' }] }, { steps: [{ name: 'A' }] }],
  ])('is read %s', (_, members, expected) => {
    const reading = readDeviceResponse(response(members))
    expect(reading).toMatchObject({ ok: true, value: expected })
  })

  const noInstants = ['2026-99-99T00:00:00Z', '2026-02-30T00:00:00Z', '2026-02-29 10:00', '2026-04-31', '2026-03-00']
  test.each<unknown>(['soon', -1, Number.MAX_VALUE, {}, true, ...noInstants])(
    'whose timestamp is %j is read as one without',
    timestamp => {
      const reading = readDeviceResponse(response({ timestamp }))
      expect(reading.ok && reading.value).not.toHaveProperty('at')
    },
  )

  test.each([[''], [null], ['  ']])('with the empty result %j is a part', resultCode => {
    const reading = readDeviceResponse(response({ resultCode }))
    expect(reading.ok && reading.value).not.toHaveProperty('resultCode')
  })

  test('is read with its texts cut at their bounds, and says so by an ellipsis', () => {
    const long = 'x'.repeat(20_000)
    const step = { name: 'A', title: long, description: long, result: long, response: long }
    const reading = readDeviceResponse(response({ resultCode: long, resultDescription: long, steps: [step] }))
    const at = (length: number) => `${'x'.repeat(length - 1)}…`
    expect(reading).toMatchObject({
      ok: true,
      value: {
        resultCode: at(255),
        resultDescription: at(4_000),
        steps: [{ name: 'A', title: at(4_000), description: at(4_000), result: at(255), response: at(16_000) }],
      },
    })
  })

  test('keeps texts that just fit, and a step response of any JSON that does', () => {
    const description = 'x'.repeat(4_000)
    const whole = { lines: ['x'.repeat(15_986)] }
    const longer = { lines: ['x'.repeat(15_987)] }
    const steps = [
      { name: 'A', description, response: whole },
      { name: 'B', description, response: longer },
    ]
    expect(readDeviceResponse(response({ steps }))).toMatchObject({
      value: { steps: [steps[0], { name: 'B', description, response: `${JSON.stringify(longer).slice(0, 15_999)}…` }] },
    })
  })

  test('leaves no half of a character where a text is cut', () => {
    const resultDescription = `${'x'.repeat(3_998)}👍👍`
    expect(readDeviceResponse(response({ resultDescription }))).toMatchObject({
      value: { resultDescription: `${'x'.repeat(3_998)}…` },
    })
  })

  test('keeps the members it does not know with the message', () => {
    const message = { ...response({ firmware: '2.1' }), hint: 1 }
    expect(readDeviceResponse(message)).toMatchObject({ ok: true, value: { message } })
  })

  test('may leave its id out only in the exchange of its operation', () => {
    const message = { operation: { response: { resultCode: 'SUCCESSFUL' } } }
    expect(readDeviceResponse(message)).toMatchObject({ ok: false, field: 'operation.response.id' })
    expect(readDeviceResponse(message, 'op-4')).toMatchObject({ ok: true, value: { operationId: 'op-4' } })
  })

  test.each([
    ['', 'the body is empty', ''],
    ['<html>', 'not JSON', ''],
    ['[]', 'must be an object', ''],
    ['{}', 'must be an object', 'operation'],
    ['{"operation":{}}', 'must be an object', 'operation.response'],
    ['{"operation":{"response":{"id":7}}}', 'must be a text that is not empty', 'operation.response.id'],
    ['{"operation":{"response":{"id":"a","steps":{}}}}', 'must be a list', 'operation.response.steps'],
    ['{"operation":{"response":{"id":"a","steps":[{}]}}}', 'must be a text', 'operation.response.steps[0].name'],
    [`{"a":${'['.repeat(100_000)}`, 'nested deeper than 64 levels', ''],
  ])('that reads %.60j is refused: %s', (body, reason, field) => {
    expect(parseDeviceResponse(body)).toEqual({ ok: false, field, reason: expect.stringContaining(reason) })
  })

  test('is read from bytes with a byte order mark', () => {
    const bytes = new TextEncoder().encode(`\uFEFF${JSON.stringify(response({ resultCode: 'SUCCESSFUL' }))}`)
    expect(parseDeviceResponse(bytes)).toMatchObject({ ok: true, value: { resultCode: 'SUCCESSFUL' } })
  })

  test('never makes the reader throw, whatever JSON it holds', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (value, key) => {
        for (const message of [
          value,
          { operation: value },
          response({ [key]: value, steps: value, timestamp: value }),
        ]) {
          const reading = readDeviceResponse(message)
          if (!reading.ok) expect(reading.reason).not.toBe('')
          else expect(reading.value.operationId).not.toBe('')
        }
      }),
    )
  })
})

describe('collected data', () => {
  test('is read by datastream, with the time each value had at the device', () => {
    const message = {
      version: '1.0',
      device: 'pump-1',
      datastreams: [
        { id: 'cell', feed: 'f', datapoints: [{ at: `${sentAt}`, value: { id: 3 }, tags: ['t', 4] }, { value: 0 }] },
      ],
    }
    expect(readCollectIot(message)).toEqual({
      ok: true,
      value: {
        device: 'pump-1',
        datastreams: [
          { id: 'cell', feed: 'f', datapoints: [{ at: sentAt, value: { id: 3 }, tags: ['t'] }, { value: 0 }] },
        ],
      },
    })
  })

  test.each([
    [{}, 'datastreams'],
    [{ datastreams: [{ datapoints: [] }] }, 'datastreams[0].id'],
    [{ datastreams: [{ id: 'a' }] }, 'datastreams[0].datapoints'],
    [{ datastreams: [{ id: 'a', datapoints: [{ value: 1 }, {}] }] }, 'datastreams[0].datapoints[1].value'],
  ])('that reads %j is refused by the field at fault', (message, field) => {
    expect(readCollectIot(message)).toMatchObject({ ok: false, field })
  })

  test('about the device itself is one event', () => {
    const device = { id: 'pump-1', model: { name: 'M' } }
    expect(readCollectDmm({ event: { id: 'e1', device } })).toEqual({ ok: true, value: { eventId: 'e1', device } })
    expect(readCollectDmm({ event: {} })).toMatchObject({ ok: false, field: 'event.device' })
  })
})

test('a response with characters that no text in the database can hold is read with U+FFFD in their place', () => {
  const reading = parseDeviceResponse(
    '{"operation":{"response":{"id":"op-1","resultCode":"SUCCESSFUL","resultDescription":"a\\u0000b\\uD800c\\uD83D\\uDE00","steps":[{"name":"x\\u0000"}]}}}',
  )
  expect(reading).toMatchObject({
    ok: true,
    value: { resultCode: 'SUCCESSFUL', resultDescription: 'a\uFFFDb\uFFFDc\u{1F600}', steps: [{ name: 'x\uFFFD' }] },
  })
})
