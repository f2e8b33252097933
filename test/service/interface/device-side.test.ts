import { expect, test } from 'vitest'
import { ADMIN, DEVICES, openHouse } from '../house.ts'
import { asking, LOGIN } from './asking.ts'

const house = await openHouse()
const { call } = house
const { refusal } = asking(house)

test('POST of the login resource answers a JWT.', async () => {
  const { status, body } = await call<{ user: { jwt: string; email: string } }>(
    'POST',
    LOGIN,
    { email: ADMIN, password: house.password },
    { 'x-apikey': '' },
  )
  expect([status, body.user.email]).toEqual([200, ADMIN])
  expect(body.user.jwt.split('.')).toHaveLength(3)
})

test('POST of a device provisions it from a JSON document.', async () => {
  const value = { _value: { _current: { value: 'd1' } } }
  const made = await call('POST', `${DEVICES}?flattened=true`, { 'provision.device.identifier': value })
  expect([made.status, made.headers.get('location')?.split('/').at(-1)]).toEqual([201, 'd1'])
  expect((await call('GET', `${DEVICES}/d1`)).status).toBe(200)
})

test('A body that is no JSON document provisions nothing.', async () => {
  const told = await refusal('POST', DEVICES, '<device/>', { 'content-type': 'application/xml' })
  expect(told.status).toBe(415)
})

test('POST of collected data in the shape of dmm is taken.', async () => {
  const key = await house.provision('d2')
  const event = { id: 'd2', device: { 'provision.device.name': 'second' } }
  expect((await house.south('d2', key, 'collect/dmm', { version: '7.0', event })).status).toBe(201)
})

test('Collected values are kept with the device, and found by a filter.', async () => {
  const key = await house.provision('d3')
  const datastreams = [{ id: 'temperature', datapoints: [{ value: 21 }] }]
  expect((await house.south('d3', key, 'collect/iot', { version: '7.0', datastreams })).status).toBe(201)
  const { status, body } = await call('POST', '/north/v80/search/entities', { filter: { eq: { temperature: 21 } } })
  expect([status, JSON.stringify(body).includes('d3')]).toEqual([200, true])
})
