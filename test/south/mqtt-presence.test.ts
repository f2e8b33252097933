import { connect as connectSocket } from 'node:net'
import { generate } from 'mqtt-packet'
import { describe, expect, onTestFinished, test } from 'vitest'
import { closed, connect, house, open, publish, response, roundTrip, subscribe } from './broker-devices.ts'
import { device } from './parts.ts'

describe('presence', () => {
  test('begins with the subscription to the own requests and ends with the connection', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    await roundTrip(client, 'pump-1')
    expect(house.presence.all).toEqual([])
    await subscribe(client, 'pump-1')
    const [[, , connection]] = (await house.presence.until(1)) as [[string, string, string]]
    client.end(true)
    await house.presence.until(2)
    expect(house.presence.all).toEqual([
      ['connected', 'pump-1', connection],
      ['disconnected', 'pump-1', connection],
    ])
  })

  test('ends with an unsubscription', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    await subscribe(client, 'pump-1')
    await client.unsubscribeAsync('odm/request/pump-1')
    await house.presence.until(2)
    expect(house.presence.all.map(([sign]) => sign)).toEqual(['connected', 'disconnected'])
  })

  test('of a device that connects again with the same client id goes over to the new connection', async () => {
    const broker = await open()
    const first = await connect(broker.port, 'pump-1', { clientId: 'c' })
    await subscribe(first, 'pump-1')
    const left = closed(first)
    const second = await connect(broker.port, 'pump-1', { clientId: 'c' })
    await subscribe(second, 'pump-1')
    await left
    const signs = await house.presence.until(3)
    expect(signs.map(([sign]) => sign).sort()).toEqual(['connected', 'connected', 'disconnected'])
    const connected = signs.filter(([sign]) => sign === 'connected').map(([, , connection]) => connection)
    expect(signs.find(([sign]) => sign === 'disconnected')?.[2]).toBe(connected[0])
    expect(new Set(connected).size).toBe(2)
    expect(broker.publish(device('pump-1'), Buffer.from('hello'))).toBe('sent')
    expect(await second.requests.until(1)).toEqual(['hello'])
    second.end(true)
    await house.presence.until(4)
    expect(broker.publish(device('pump-1'), Buffer.from('hello'))).toBe('away')
  })

  test('of a device is not touched by another device that uses its client id', async () => {
    const broker = await open()
    const one = await connect(broker.port, 'pump-1', { clientId: 'c' })
    await subscribe(one, 'pump-1')
    const other = await connect(broker.port, 'pump-2', { clientId: 'c' })
    await subscribe(other, 'pump-2')
    expect(one.connected).toBe(true)
    expect(broker.publish(device('pump-1'), Buffer.from('for 1'))).toBe('sent')
    expect(await one.requests.until(1)).toEqual(['for 1'])
    expect(other.requests.all).toEqual([])
  })

  test('of a session that is taken up again begins without a new subscription', async () => {
    const broker = await open()
    const first = await connect(broker.port, 'pump-1', { clientId: 'c', clean: false })
    await subscribe(first, 'pump-1')
    await first.endAsync()
    await house.presence.until(2)
    expect(broker.publish(device('pump-1'), Buffer.from('lost'))).toBe('away')
    const again = await connect(broker.port, 'pump-1', { clientId: 'c', clean: false })
    await house.presence.until(3)
    expect(broker.publish(device('pump-1'), Buffer.from('kept'))).toBe('sent')
    expect(await again.requests.until(1)).toEqual(['kept'])
    expect(house.presence.all.map(([sign]) => sign)).toEqual(['connected', 'disconnected', 'connected'])
  })

  test('is told again by operationOnDemand, which counts as a connect', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    await publish(client, 'odm/operationOnDemand/pump-1', '')
    expect(house.presence.all).toEqual([['seen', 'pump-1']])
    await subscribe(client, 'pump-1')
    await house.presence.until(2)
    await publish(client, 'odm/operationOnDemand/pump-1', '')
    expect(house.presence.all.map(([sign]) => sign)).toEqual(['seen', 'connected', 'connected'])
  })

  test.for([
    ['response', response()],
    ['iot', { datastreams: [{ id: 't', datapoints: [{ value: 1 }] }] }],
    ['dmm', { event: { device: { a: 1 } } }],
  ] as const)(
    'is known of a device that says something on %s, also where it has not subscribed',
    async ([kind, message]) => {
      const { port } = await open()
      const client = await connect(port, 'pump-1')
      await publish(client, `odm/${kind}/pump-1`, message)
      expect(await house.presence.until(1)).toEqual([['seen', 'pump-1']])
    },
  )

  test('ends when a device gives no sign of life for longer than it said it would', async () => {
    const { port } = await open()
    const socket = connectSocket(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const [username, password] = ['pump-1', Buffer.from('key-of-pump-1')]
    const subscriptions = [{ topic: 'odm/request/pump-1', qos: 1 as const }]
    socket.write(generate({ cmd: 'connect', protocolId: 'MQTT', clientId: 'c', keepalive: 1, username, password }))
    socket.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions }))
    socket.resume()
    const [[, , connection]] = (await house.presence.until(1)) as [[string, string, string]]
    expect(await house.presence.until(2)).toEqual([
      ['connected', 'pump-1', connection],
      ['disconnected', 'pump-1', connection],
    ])
  })

  test('that cannot be recorded is recorded later, in order', async () => {
    const { port } = await open()
    let failures = 2
    house.onPresence = async () => {
      failures -= 1
      if (failures >= 0) throw new Error('the database is gone')
    }
    const client = await connect(port, 'pump-1')
    await subscribe(client, 'pump-1')
    await house.presence.until(1)
    client.end(true)
    await house.presence.until(2)
    expect(house.presence.all.map(([sign]) => sign)).toEqual(['connected', 'disconnected'])
  })

  test('that is recorded late is dated when it began', async () => {
    const times = ['2026-03-02T10:00:00Z', '2026-03-02T10:05:00Z'].map(text => new Date(text))
    Object.assign(house.parts, { now: () => times[0] })
    const { port } = await open()
    let failures = 1
    house.onPresence = async () => {
      times.shift()
      if (failures-- > 0) throw new Error('the database is gone')
    }
    const dates: (Date | undefined)[] = []
    const { connected } = house.parts.presence
    house.parts.presence.connected = (pump, connection, since) => {
      dates.push(since)
      return connected(pump, connection, since)
    }
    const client = await connect(port, 'pump-1')
    await subscribe(client, 'pump-1')
    await house.presence.until(1)
    expect(dates).toEqual(Array(2).fill(new Date('2026-03-02T10:00:00Z')))
  })

  test('that ended before it could be recorded is not recorded any more: the device may be at another node by then', async () => {
    const { port } = await open()
    const tried = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    house.onPresence = async () => {
      house.onPresence = async () => {}
      tried.resolve()
      await gone.promise
      throw new Error('the database is gone')
    }
    const client = await connect(port, 'pump-1')
    await subscribe(client, 'pump-1')
    await tried.promise
    const next = await connect(port, 'pump-1', { clientId: client.options.clientId! })
    await closed(client)
    gone.resolve()
    await house.presence.until(1)
    expect(house.presence.all.map(([sign]) => sign)).toEqual(['disconnected'])
    next.end(true)
  })

  test('ends with the broker, and that is recorded before the stop is over', async () => {
    const broker = await open()
    const client = await connect(broker.port, 'pump-1')
    await subscribe(client, 'pump-1')
    await house.presence.until(1)
    const left = closed(client)
    await broker.stop(1000)
    expect(house.presence.all.map(([sign]) => sign)).toEqual(['connected', 'disconnected'])
    await left
  })
})
