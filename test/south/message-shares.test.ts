import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { MESSAGES_PER_DEVICE } from '../../src/south/message-shares.ts'
import { key, openDoor, post, response } from './http-door.ts'

test('a device with too many messages in hand is told to come again, and no other', async () => {
  const { house, url } = await openDoor()
  const commit = Promise.withResolvers<'taken'>()
  house.onSubmit = ({ deviceId }) => (deviceId === 'pump-1' ? commit.promise : Promise.resolve('taken'))
  const inHand = Array.from({ length: MESSAGES_PER_DEVICE }, () => post(`${url}/operation/response`, response({})))
  await house.messages.until(MESSAGES_PER_DEVICE)
  for (const path of ['operation/response', 'collect/iot', 'collect/dmm', 'own']) {
    const refused = await post(`${url}/${path}`, response({}))
    expect([path, refused.status, refused.headers.has('retry-after')]).toEqual([path, 429, true])
  }
  expect(house.refusals.all).toEqual(Array(4).fill('too-many-messages'))
  const other = await post(`${url.replace('pump-1', 'pump-2')}/operation/response`, response({}), {
    'x-apikey': 'key-of-pump-2',
  })
  expect(other.status).toBe(200)
  // To ask for work is no message.
  expect((await fetch(`${url}/operation/pending`, { headers: key })).status).toBe(204)
  commit.resolve('taken')
  for (const answer of await Promise.all(inHand)) expect(answer.status).toBe(200)
  expect((await post(`${url}/operation/response`, response({}))).status).toBe(200)
})

test('a device that hangs up has its message no longer in hand', async () => {
  const { url, port } = await openDoor()
  const sockets = Array.from({ length: MESSAGES_PER_DEVICE }, () => connect(port, '127.0.0.1'))
  onTestFinished(() => sockets.forEach(socket => void socket.destroy()))
  for (const socket of sockets) {
    socket.on('error', () => {})
    const head = 'POST /south/v80/devices/pump-1/collect/iot HTTP/1.1\r\nhost: x\r\nx-apikey: key-of-pump-1\r\n'
    socket.write(`${head}content-length: 100\r\n\r\n{`)
  }
  const status = async () => (await post(`${url}/operation/response`, response({}))).status
  await expect.poll(status, { timeout: 45_000 }).toBe(429)
  for (const socket of sockets) socket.resetAndDestroy()
  await expect.poll(status, { timeout: 45_000 }).toBe(200)
})
