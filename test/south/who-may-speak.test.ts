import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { errorsOf, key, openDoor, post, response } from './http-door.ts'

describe('who may speak', () => {
  test('is known by the key in the header or in the query', async () => {
    const { url } = await openDoor()
    expect((await fetch(`${url}/operation/pending`, { headers: key })).status).toBe(204)
    expect((await fetch(`${url}/operation/pending?X-ApiKey=key-of-pump-1`)).status).toBe(204)
    expect((await fetch(`${url}/operation/pending?x-apikey=key-of-pump-1`)).status).toBe(204)
  })

  test.for([
    ['no key', {}],
    ['a wrong key', { 'x-apikey': 'wrong' }],
    ['the key of another device', { 'x-apikey': 'key-of-pump-2' }],
  ] as const)('with %s is 401 on every route, and counted', async ([, headers]) => {
    const { house, url } = await openDoor()
    const answers = [
      await post(`${url}/operation/response`, response({}), headers),
      await post(`${url}/collect/iot`, '{"datastreams":[]}', headers),
      await post(`${url}/collect/dmm`, '{"event":{"device":{}}}', headers),
      await fetch(`${url}/operation/pending?wait=30`, { headers }),
    ]
    for (const answer of answers) {
      expect(answer.status).toBe(401)
      expect(await errorsOf(answer)).toMatchObject([{ code: '0x04' }])
    }
    expect(house.refusals.all).toEqual(Array(4).fill('unauthorized'))
    expect([house.messages.all, house.collected.all, house.polls.all]).toEqual([[], [], []])
  })

  test('is told 401 before the body is read', async () => {
    const { port } = await openDoor()
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write('POST /south/v80/devices/pump-1/collect/iot HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n')
    const [answer] = await once(socket, 'data')
    expect(answer.toString()).toMatch(/^HTTP\/1.1 401/)
  })

  test('is read from a path that is percent-encoded', async () => {
    const { house, url } = await openDoor()
    const odd = url.replace('pump-1', encodeURIComponent('a/b ü'))
    const answer = await fetch(`${odd}/operation/pending?X-ApiKey=${encodeURIComponent('key-of-a/b ü')}`)
    expect(answer.status).toBe(204)
    expect(house.polls.all).toMatchObject([{ deviceId: 'a/b ü' }])
  })
})
