import { expect, test } from 'vitest'
import {
  DEVICE_TOPIC_KINDS,
  deviceTopic,
  deviceTopicFilter,
  fitsTopic,
  pendingPath,
  readDeviceTopic,
  requestPath,
  responsePath,
} from '../../src/contract/device-addresses.ts'

test.each([...DEVICE_TOPIC_KINDS])('the %s topic names its device and is read back', kind => {
  const topic = deviceTopic(kind, 'pump 1')
  expect(topic).toBe(`odm/${kind}/pump 1`)
  expect(readDeviceTopic(topic)).toEqual({ kind, deviceId: 'pump 1' })
  expect(deviceTopicFilter(kind)).toBe(`odm/${kind}/+`)
})

test.each(['odm/response', 'odm/response/', 'odm/other/d1', 'odm/response/d1/x', 'x/response/d1', 'odm/response/+'])(
  'the topic %s is none of a device',
  topic => {
    expect(readDeviceTopic(topic)).toBeUndefined()
  },
)

test.each(['a/b', 'a+', '#', ''])('a device called %j is not reachable over MQTT', id => {
  expect(fitsTopic(id)).toBe(false)
})

test('paths carry the device id percent-encoded', () => {
  expect(responsePath('a/b c')).toBe('/south/v80/devices/a%2Fb%20c/operation/response')
  expect(pendingPath('d1')).toBe('/south/v80/devices/d1/operation/pending')
  expect(pendingPath('d1', 30)).toBe('/south/v80/devices/d1/operation/pending?wait=30')
  expect(requestPath('d1')).toBe('/south/v80/devices/d1/operation/request')
})
