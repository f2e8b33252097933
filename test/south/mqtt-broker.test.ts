import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import { type MqttBrokerSettings, openMqttBroker } from '../../src/south/mqtt-broker.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts'
import { device, notes, type StandIns, standIns } from './parts.ts'

let house: StandIns
beforeEach(() => {
  house = standIns()
})

async function open(settings: Partial<MqttBrokerSettings> = {}) {
  const broker = await openMqttBroker(house.parts, { host: '127.0.0.1', port: 0, node: 'n1', ...settings })
  onTestFinished(() => broker.stop(1000))
  return broker
}

/** A device as it connects; its requests are noted. */
async function connect(port: number, deviceId: string, options: IClientOptions = {}) {
  const credentials = { username: deviceId, password: `key-of-${deviceId}` }
  const once4 = { reconnectPeriod: 0, protocolVersion: 4, resubscribe: false } as const
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { ...credentials, ...once4, ...options }, false)
  onTestFinished(() => void client.end(true))
  const requests = notes<string>()
  client.on('message', (_topic, payload) => requests.add(payload.toString()))
  return Object.assign(client, { requests })
}

async function subscribe(client: MqttClient, deviceId: string, qos: 0 | 1 | 2 = 1): Promise<number | undefined> {
  const [granted] = await client.subscribeAsync(`odm/request/${deviceId}`, { qos })
  return granted?.qos
}

const publish = (client: MqttClient, topic: string, payload: unknown, qos: 0 | 1 | 2 = 1) =>
  client.publishAsync(topic, typeof payload === 'string' ? payload : JSON.stringify(payload), { qos })

const response = (members: Record<string, unknown> = {}) => ({ operation: { response: { id: 'op-1', ...members } } })

const closed = (client: MqttClient) => new Promise<void>(resolve => client.once('close', () => resolve()))

/** Resolves when a packet that follows everything sent so far was answered. */
const roundTrip = (client: MqttClient, deviceId: string) => client.unsubscribeAsync(`odm/request/${deviceId}/none`)

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

  test('says nothing within the time for it is disconnected', async () => {
    const { port } = await open({ connectMs: 50 })
    const socket = connectSocket(port, '127.0.0.1')
    await once(socket, 'close')
    expect(socket.destroyed).toBe(true)
  })
})

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

  test('that cannot be recorded is recorded later, in order', async () => {
    const { port } = await open()
    let failures = 2
    house.onPresence = async () => {
      failures -= 1
      if (failures >= 0) throw new Error('the database is gone')
    }
    const client = await connect(port, 'pump-1')
    await subscribe(client, 'pump-1')
    client.end(true)
    await house.presence.until(2)
    expect(house.presence.all.map(([sign]) => sign)).toEqual(['connected', 'disconnected'])
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

describe('a message of a device', () => {
  test.for([1, 2] as const)('at QoS %i is acknowledged only after the commit', async qos => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    const commit = Promise.withResolvers<'taken'>()
    house.onSubmit = () => commit.promise
    let acknowledged = false
    const published = publish(client, 'odm/response/pump-1', response({ resultCode: 'SUCCESSFUL' }), qos).then(() => {
      acknowledged = true
    })
    const [message] = await house.messages.until(1)
    expect(message).toMatchObject({
      operationId: 'op-1',
      organization: 1,
      deviceId: 'pump-1',
      resultCode: 'SUCCESSFUL',
      raw: JSON.stringify(response({ resultCode: 'SUCCESSFUL' })),
    })
    expect(acknowledged).toBe(false)
    commit.resolve('taken')
    await published
  })

  test('at QoS 0 is taken as well', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    await publish(client, 'odm/response/pump-1', response(), 0)
    await house.messages.until(1)
    expect(house.messages.all).toHaveLength(1)
  })

  test('is not acknowledged by a broker whose device has left before the commit', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    const commit = Promise.withResolvers<'taken'>()
    house.onSubmit = () => commit.promise
    const published = publish(client, 'odm/response/pump-1', response()).then(
      () => 'acknowledged',
      () => 'lost',
    )
    await house.messages.until(1)
    client.end(true)
    commit.resolve('taken')
    expect(await published).toBe('lost')
  })

  test('that fails to be written is tried again until it is, and acknowledged then', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    let failures = 2
    house.onSubmit = async () => {
      failures -= 1
      if (failures >= 0) throw failures === 1 ? new Error('the database is gone') : new DroverError('tooMany')
      return 'taken'
    }
    await publish(client, 'odm/response/pump-1', response())
    expect(house.messages.all).toHaveLength(3)
  })

  test.for([
    ['is not JSON', 'odm/response/pump-1', '{', 'unreadable-message'],
    ['names no operation', 'odm/response/pump-1', '{"operation":{"response":{}}}', 'unreadable-message'],
    [
      'has datapoints without value',
      'odm/iot/pump-1',
      '{"datastreams":[{"id":"a","datapoints":[{}]}]}',
      'unreadable-message',
    ],
    ['has no event', 'odm/dmm/pump-1', '{}', 'unreadable-message'],
    ['is on the topic of another device', 'odm/response/pump-2', JSON.stringify(response()), 'foreign-topic'],
    ['is on a topic of nobody', 'some/where', 'x', 'foreign-topic'],
    ['is on the topic of its own requests', 'odm/request/pump-1', 'x', 'foreign-topic'],
  ] as const)('that %s is dropped and counted, and the connection stays', async ([, topic, payload, refusal]) => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    await publish(client, topic, payload)
    expect(house.refusals.all).toEqual([refusal])
    expect([house.messages.all, house.collected.all]).toEqual([[], []])
    expect(client.connected).toBe(true)
  })

  test('about an operation that is unknown or not its own is dropped and counted', async () => {
    const { port } = await open()
    house.onSubmit = async () => 'unknown'
    const client = await connect(port, 'pump-1')
    await publish(client, 'odm/response/pump-1', response())
    expect(house.refusals.all).toEqual(['unknown-operation'])
  })

  test('that the engine refuses is dropped and counted, and not tried again', async () => {
    const { port } = await open()
    house.onSubmit = () => Promise.reject(new DroverError('malformed'))
    const client = await connect(port, 'pump-1')
    await publish(client, 'odm/response/pump-1', response())
    expect(house.refusals.all).toEqual(['unreadable-message'])
    expect(house.messages.all).toHaveLength(1)
  })

  test('in its own format is taken as what the function of its device makes of it', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    const asked: unknown[] = []
    house.onOwnMessage = async (_device, message) => {
      asked.push(message)
      return { id: 'op-1', resultCode: 'SUCCESSFUL' }
    }
    await publish(client, 'odm/response/pump-1', 'REF=1;OK')
    expect(asked).toEqual([{ via: 'mqtt', body: 'REF=1;OK' }])
    expect(house.messages.all).toMatchObject([{ operationId: 'op-1', resultCode: 'SUCCESSFUL', raw: 'REF=1;OK' }])
    expect(house.refusals.all).toEqual([])
  })

  test('with collected data reaches the collection', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    await publish(client, 'odm/iot/pump-1', { datastreams: [{ id: 't', datapoints: [{ value: 1 }] }] })
    await publish(client, 'odm/dmm/pump-1', { event: { device: { a: 1 } } })
    expect(house.collected.all).toEqual([
      { deviceId: 'pump-1', iot: { datastreams: [{ id: 't', datapoints: [{ value: 1 }] }] } },
      { deviceId: 'pump-1', dmm: { device: { a: 1 } } },
    ])
  })

  test('longer than allowed ends the connection, and so does a CONNECT that is', async () => {
    const { port } = await open({ packets: { firstMax: 1000, max: 5000 } })
    const client = await connect(port, 'pump-1')
    const left = closed(client)
    publish(client, 'odm/iot/pump-1', 'x'.repeat(6000)).catch(() => {})
    await left
    await expect(connect(port, 'pump-1', { clientId: 'x'.repeat(2000) })).rejects.toThrow()
    expect(house.refusals.all).toEqual(['broken-packet', 'broken-packet'])
  })

  test('of bytes that are no MQTT ends the connection and nothing else', async () => {
    const { port } = await open()
    const socket = connectSocket(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\n\r\n')
    await once(socket, 'close')
    expect((await connect(port, 'pump-1')).connected).toBe(true)
  })
})

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
