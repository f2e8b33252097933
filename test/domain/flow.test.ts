import { describe, expect, test } from 'vitest'
import { chooseFlow, functionOf, isReachedAnew } from '../../src/domain/flow.ts'

describe('the way to a device', () => {
  test.each([
    ['its own flow, whatever else there is', { flow: 'http', mqttConnected: true, addressed: false }, 'http'],
    ['its own flow', { flow: 'mqtt', mqttConnected: false, addressed: true }, 'mqtt'],
    ['its own flow', { flow: 'pull', mqttConnected: true, addressed: true }, 'pull'],
    ['its function', { flow: 'function:acme', mqttConnected: true, addressed: true }, 'function'],
    ['MQTT while it is connected there', { flow: null, mqttConnected: true, addressed: true }, 'mqtt'],
    ['HTTP where it can be addressed', { flow: null, mqttConnected: false, addressed: true }, 'http'],
    ['pull where nothing else is left', { flow: null, mqttConnected: false, addressed: false }, 'pull'],
    [
      'the choice of the service where its flow is unknown',
      { flow: 'pigeon', mqttConnected: false, addressed: true },
      'http',
    ],
  ] as const)('is %s: %o', (_, reachability, flow) => {
    expect(chooseFlow(reachability)).toBe(flow)
  })
})

test('a flow names its function, if it names one', () => {
  expect(functionOf('function:acme')).toBe('acme')
  expect(functionOf('http')).toBeUndefined()
  expect(functionOf(null)).toBeUndefined()
})

test.each([
  ['its flow becomes http', { flow: 'mqtt' }, { flow: 'http' }, true],
  ['it is given a URL', {}, { url: 'http://a/' }, true],
  ['it moves to another address', { address: '10.0.0.1' }, { address: '10.0.0.2' }, true],
  ['nothing of it changes', { url: 'http://a/' }, { url: 'http://a/' }, false],
  ['it has a URL and is to ask', {}, { flow: 'pull', url: 'http://a/' }, false],
  ['it loses its address', { address: '10.0.0.1' }, {}, false],
] as const)('a device of which %s is reached anew over HTTP: %o, %o, %s', (_, before, now, expected) => {
  const nothing = { flow: null, url: null, address: null }
  expect(isReachedAnew({ ...nothing, ...before }, { ...nothing, ...now })).toBe(expected)
})
