import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import { closed, connect, house, open, publish, response } from './broker-devices.ts'

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

  test('of 300 KB is taken, and one a little longer is acknowledged, dropped and counted', async () => {
    const { port } = await open()
    const client = await connect(port, 'pump-1')
    const padded = (length: number) => JSON.stringify(response()).padEnd(length)
    await publish(client, 'odm/response/pump-1', padded(307_200))
    await publish(client, 'odm/response/pump-1', padded(307_201))
    expect(house.messages.all.length).toBe(1)
    expect(house.refusals.all).toEqual(['unreadable-message'])
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
