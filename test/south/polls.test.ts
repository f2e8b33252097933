import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { OperationRequest } from '../../src/engine/connector.ts'
import { POLLS_PER_DEVICE } from '../../src/south/polls.ts'
import { request } from '../connectors/requests.ts'
import { errorsOf, key, openDoor } from './http-door.ts'

describe('the call for a pending request', () => {
  test('answers one request as it travels on every other way', async () => {
    const { house, url } = await openDoor()
    const operation = request({}, { entityId: 'sim-1' })
    house.onTake = async () => operation
    const answer = await fetch(`${url}/operation/pending`, { headers: key })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({
      operation: {
        request: {
          timestamp: operation.launchedAt,
          deviceId: 'pump-1',
          entityId: 'sim-1',
          name: 'REBOOT_EQUIPMENT',
          parameters: [{ name: 'type', type: 'string', value: { string: 'HARDWARE' } }],
          id: operation.id,
        },
      },
    })
  })

  test('is held for `wait` seconds, at most 60', async () => {
    const { house, url } = await openDoor()
    for (const wait of ['', '?wait=0', '?wait=30', '?wait=3600']) {
      expect((await fetch(`${url}/operation/pending${wait}`, { headers: key })).status).toBe(204)
    }
    expect(house.polls.all.map(({ waitMs }) => waitMs)).toEqual([0, 0, 30_000, 60_000])
  })

  test.for(['-1', 'soon', '1.5', ''])('refuses a wait of %j', async wait => {
    const { url } = await openDoor()
    const answer = await fetch(`${url}/operation/pending?wait=${wait}`, { headers: key })
    expect(answer.status).toBe(400)
    expect(await errorsOf(answer)).toMatchObject([{ context: [{ name: 'wait' }] }])
  })

  test('ends when its device hangs up', async () => {
    const { house, port } = await openDoor()
    const ended = Promise.withResolvers<void>()
    house.onTake = (_device, _waitMs, signal) =>
      new Promise(resolve => {
        signal.addEventListener('abort', () => {
          ended.resolve()
          resolve(undefined)
        })
      })
    const socket = connect(port, '127.0.0.1')
    socket.write(
      'GET /south/v80/devices/pump-1/operation/pending?wait=60 HTTP/1.1\r\nhost: x\r\nx-apikey: key-of-pump-1\r\n\r\n',
    )
    await house.polls.until(1)
    socket.destroy()
    await ended.promise
  })

  test('ends when the service stops, without a request lost', async () => {
    const { house, server, url } = await openDoor()
    house.onTake = (_device, _waitMs, signal) =>
      new Promise(resolve => signal.addEventListener('abort', () => resolve(undefined)))
    const answer = fetch(`${url}/operation/pending?wait=60`, { headers: key })
    await house.polls.until(1)
    await server.close()
    expect((await answer).status).toBe(204)
  })

  test('beyond the bound is told to come again later, each device at its own time', async () => {
    const { house, url } = await openDoor({ pollsMax: 3 })
    const release: ((operation?: OperationRequest) => void)[] = []
    house.onTake = () => new Promise(resolve => release.push(resolve))
    const held = Array.from({ length: 3 }, () => fetch(`${url}/operation/pending?wait=60`, { headers: key }))
    await house.polls.until(3)
    const pauses = new Set<number>()
    for (let k = 0; k < 12; k += 1) {
      const refused = await fetch(`${url}/operation/pending?wait=60`, { headers: key })
      expect(refused.status).toBe(429)
      pauses.add(Number(refused.headers.get('retry-after')))
    }
    expect(pauses.size).toBeGreaterThan(1)
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(5)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(25)
    expect(house.refusals.all).toEqual(Array(12).fill('too-many-polls'))
    for (const letGo of release) letGo()
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(204)
    house.onTake = async () => undefined
    expect((await fetch(`${url}/operation/pending`, { headers: key })).status).toBe(204)
  })

  test('that one device makes over and over takes no place of others: the call that is open for longest ends', async () => {
    const { house, url } = await openDoor({ pollsMax: POLLS_PER_DEVICE + 1 })
    const letGo = new AbortController()
    house.onTake = (_device, _waitMs, signal) =>
      new Promise(resolve => {
        for (const each of [signal, letGo.signal]) each.addEventListener('abort', () => resolve(undefined))
      })
    const hostile: Promise<Response>[] = []
    for (let k = 0; k < 4 * POLLS_PER_DEVICE; k += 1) {
      hostile.push(fetch(`${url}/operation/pending?wait=60`, { headers: key }))
      await house.polls.until(k + 1)
    }
    const superseded = await Promise.all(hostile.slice(0, -POLLS_PER_DEVICE))
    expect(superseded.map(({ status }) => status)).toEqual(superseded.map(() => 204))
    const neighbour = fetch(`${url.replace('pump-1', 'pump-2')}/operation/pending?wait=60`, {
      headers: { 'x-apikey': 'key-of-pump-2' },
    })
    await house.polls.until(1, ({ deviceId }) => deviceId === 'pump-2')
    const open_ = house.polls.all.slice(-POLLS_PER_DEVICE - 1).map(({ deviceId, signal }) => [deviceId, signal.aborted])
    expect(open_).toEqual([...Array(POLLS_PER_DEVICE).fill(['pump-1', false]), ['pump-2', false]])
    expect(house.refusals.all).toEqual([])
    letGo.abort()
    expect((await neighbour).status).toBe(204)
    await Promise.all(hostile)
  })

  test('by HEAD is no call: it would hand out a request without delivering it', async () => {
    const { house, url } = await openDoor()
    expect((await fetch(`${url}/operation/pending`, { method: 'HEAD', headers: key })).status).toBe(404)
    expect(house.polls.all).toEqual([])
  })
})
