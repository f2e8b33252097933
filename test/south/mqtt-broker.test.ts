import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { connectAsync } from 'mqtt'
import { describe, expect, test } from 'vitest'
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts'
import { connect, house, open, publish, response, subscribe } from './broker-devices.ts'
import { device } from './parts.ts'

describe('who connects', () => {
  test('is known by device id and key', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    expect(client.connected).toBe(true)
  })

  test.for([
    ['a wrong key', { password: 'wrong' }],
    ['the key of another device', { password: 'key-of-pump-2' }],
    ['no key', { password: '' }],
    ['an id that is no level of a topic', { username: 'a/b', password: 'key-of-a/b' }],
    ['an id with a wildcard', { username: '+', password: 'key-of-+' }],
  ] as const)('with %s is refused as MQTT says, and counted', async ([, options]) => {
    const { port } = await open()
    await expect(connect(port, 'pump-1', options)).rejects.toMatchObject({ code: 4 })
    expect(house.refusals.all).toEqual(['unauthorized'])
  })

  test('while nobody can be authenticated is told that the server is unavailable', async () => {
    const { port } = await open()
    house.onAuthenticate = () => Promise.reject(new Error('the database is gone'))
    await expect(connect(port, 'pump-1')).rejects.toMatchObject({ code: 3 })
  })

  test('over TLS speaks to a broker that has a certificate', async () => {
    const { port } = await open({ tls: { cert: CERTIFICATE, key: CERTIFICATE_KEY } })
    const client = await connectAsync(`mqtts://localhost:${port}`, {
      username: 'pump-1',
      password: 'key-of-pump-1',
      ca: CERTIFICATE,
      reconnectPeriod: 0,
      protocolVersion: 4,
    })
    await publish(client, 'odm/response/pump-1', response())
    expect(house.messages.all).toHaveLength(1)
    client.end(true)
  })

  test('with MQTT 5 is told that the broker speaks another version', async () => {
    const { port } = await open()
    await expect(connect(port, 'pump-1', { protocolVersion: 5 })).rejects.toThrow()
    expect((await connect(port, 'pump-1')).connected).toBe(true)
  })

  test('says nothing within the time for it is disconnected', async () => {
    const { port } = await open({ connectMs: 50 })
    const socket = connectSocket(port, '127.0.0.1')
    await once(socket, 'close')
    expect(socket.destroyed).toBe(true)
  })
})

describe('a request', () => {
  test.for([0, 1, 2] as const)('reaches a device that subscribed at QoS %i, which is granted', async qos => {
    const broker = await open()
    const client = await connect(broker.port, 'pump-1')
    expect(await subscribe(client, 'pump-1', qos)).toBe(qos)
    expect(broker.publish(device('pump-1'), Buffer.from('do it'))).toBe('sent')
    expect(await client.requests.until(1)).toEqual(['do it'])
  })

  test('to a device that is connected without a subscription, or not at all, is away', async () => {
    const broker = await open()
    await connect(broker.port, 'pump-1')
    expect(broker.publish(device('pump-1'), Buffer.from('x'))).toBe('away')
    expect(broker.publish(device('pump-2'), Buffer.from('x'))).toBe('away')
    expect(broker.publish({ ...device('pump-1'), entity: 99n }, Buffer.from('x'))).toBe('away')
  })

  test('goes to the connection that subscribed last, and back to the other one when that ends', async () => {
    const broker = await open()
    const older = await connect(broker.port, 'pump-1', { clientId: 'older' })
    await subscribe(older, 'pump-1')
    const newer = await connect(broker.port, 'pump-1', { clientId: 'newer' })
    await subscribe(newer, 'pump-1')
    broker.publish(device('pump-1'), Buffer.from('first'))
    expect(await newer.requests.until(1)).toEqual(['first'])
    newer.end(true)
    await house.presence.until(1, ([sign]) => sign === 'disconnected')
    const signs = await house.presence.until(4)
    expect(signs.map(([sign]) => sign)).toEqual(['connected', 'connected', 'disconnected', 'connected'])
    expect(signs[3]?.[2]).toBe(signs[0]?.[2])
    broker.publish(device('pump-1'), Buffer.from('second'))
    expect(await older.requests.until(1)).toEqual(['second'])
  })

  test('is no longer handed to a device that reads nothing', async () => {
    const broker = await open({ unreadBytesMax: 100_000 })
    const client = await connect(broker.port, 'pump-1')
    await subscribe(client, 'pump-1')
    client.stream.pause()
    const payload = Buffer.alloc(200_000)
    let sent = 0
    while (sent < 10_000 && broker.publish(device('pump-1'), payload) === 'sent') {
      sent += 1
      await new Promise(setImmediate)
    }
    expect(sent).toBeLessThan(10_000)
    await house.presence.until(1, ([sign]) => sign === 'disconnected')
    expect(broker.publish(device('pump-1'), payload)).toBe('away')
  })
})
