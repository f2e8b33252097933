import { describe, expect, test } from 'vitest'
import { closed, connect, house, open, publish, response, roundTrip, subscribe } from './broker-devices.ts'
import { device, notes } from './parts.ts'

describe('devices and each other', () => {
  test.for([
    '#',
    'odm/request/+',
    'odm/request/pump-2',
    'odm/response/pump-1',
    '$SYS/#',
    '$share/g/odm/request/pump-1',
  ])('a subscription to %s is refused', async topic => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    await expect(client.subscribeAsync(topic, { qos: 1 })).rejects.toThrow()
    expect(house.refusals.all).toEqual(['foreign-topic'])
    expect(house.presence.all).toEqual([])
  })

  test('what one publishes never reaches another, retained or as a will neither', async () => {
    const broker = await open()
    const victim = await connect(broker.port, 'pump-1')
    await subscribe(victim, 'pump-1')
    const will = { topic: 'odm/request/pump-1', payload: Buffer.from('will'), qos: 1 as const, retain: false }
    const hostile = await connect(broker.port, 'pump-2', { will })
    await hostile.publishAsync('odm/request/pump-1', 'forged', { qos: 1, retain: true })
    await hostile.publishAsync('odm/request/pump-1', 'forged', { qos: 2 })
    hostile.stream.destroy()
    const late = await connect(broker.port, 'pump-1', { clientId: 'late' })
    await subscribe(late, 'pump-1')
    broker.publish(device('pump-1'), Buffer.from('genuine'))
    expect(await late.requests.until(1)).toEqual(['genuine'])
    await roundTrip(victim, 'pump-1')
    expect(victim.requests.all).toEqual([])
  })

  test('a device whose key is revoked is disconnected from everything at once', async () => {
    const broker = await open()
    const clients = [
      await connect(broker.port, 'pump-1', { clientId: 'a' }),
      await connect(broker.port, 'pump-1', { clientId: 'b' }),
    ]
    const left = clients.map(closed)
    broker.disconnect([device('pump-1')])
    await Promise.all(left)
    expect(clients.map(client => client.connected)).toEqual([false, false])
  })

  test('a device whose key was ended elsewhere is disconnected when its key is judged again', async () => {
    const { port } = await open({ recheckMs: 20 })
    const [revoked, good] = [await connect(port, 'pump-1'), await connect(port, 'pump-2')]
    const left = closed(revoked)
    house.onAuthenticate = async deviceId => (deviceId === 'pump-1' ? undefined : device(deviceId))
    await left
    await roundTrip(good, 'pump-2')
    expect(good.connected).toBe(true)
  })

  test('a device stays connected while its key cannot be judged', async () => {
    const { port } = await open({ recheckMs: 10 })
    const client = await connect(port, 'pump-1')
    const judged = notes<void>()
    house.onAuthenticate = () => {
      judged.add()
      return Promise.reject(new Error('the database is gone'))
    }
    await judged.until(3)
    await roundTrip(client, 'pump-1')
    expect(client.connected).toBe(true)
  })

  test('no more are let in than there is room for', async () => {
    const { port } = await open({ connectionsMax: 2 })
    await connect(port, 'pump-1')
    await connect(port, 'pump-2')
    await expect(connect(port, 'pump-3')).rejects.toThrow()
    expect(house.refusals.all).toEqual(['too-many-connections'])
  })

  test('two thousand that connect at once are all let in, and their going is told', async () => {
    // Here the two thousand share a thread with the broker, and each waits for all others.
    const broker = await open({ connectMs: 100_000 })
    const ids = Array.from({ length: 2000 }, (_, k) => `d${k}`)
    const clients = await Promise.all(
      ids.map(async id => {
        const client = await connect(broker.port, id, { connectTimeout: 100_000, keepalive: 0 })
        await subscribe(client, id)
        return client
      }),
    )
    await house.presence.until(2000, ([sign]) => sign === 'connected')
    expect(broker.connections()).toBe(2000)
    for (const id of ids) expect(broker.publish(device(id), Buffer.from(id))).toBe('sent')
    const received = await Promise.all(clients.map(client => client.requests.until(1)))
    expect(received.flat()).toEqual(ids)
    await Promise.all(clients.map((client, k) => publish(client, `odm/response/d${k}`, response())))
    expect(house.messages.all).toHaveLength(2000)
    for (const client of clients) client.end(true)
    await house.presence.until(2000, ([sign]) => sign === 'disconnected')
  })
})
