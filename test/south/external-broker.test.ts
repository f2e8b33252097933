import { writeFile } from 'node:fs/promises'
import { connect } from 'mqtt'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { brokerRefusals } from '../../src/connectors/broker-refusals.ts'
import { mqttConnector } from '../../src/connectors/mqtt.ts'
import { type KeptMqttClient, keepMqttClient, type MqttClientSettings } from '../../src/connectors/mqtt-client.ts'
import { externalLink } from '../../src/connectors/mqtt-link.ts'
import { type MqttSubscriberSettings, mqttSubscriber } from '../../src/south/mqtt-subscriber.ts'
import { bookReports, request } from '../connectors/requests.ts'
import { silentLog } from '../database.ts'
import { drawWire } from '../service/wire.ts'
import { createMosquitto, type Mosquitto, mosquittoProgram } from './mosquitto.ts'
import { device, notes, type StandIns, standIns } from './parts.ts'

let house: StandIns
beforeEach(() => {
  house = standIns()
})

let opened = 0

async function mosquitto(rules?: (folder: string) => Promise<string[]>): Promise<Mosquitto> {
  const broker = await createMosquitto(mosquittoProgram!, rules)
  onTestFinished(() => broker.remove())
  await broker.start()
  return broker
}

/** A south as a process has it: a kept connection and the subscriber on it. */
async function openSouth(
  url: string,
  settings: Partial<MqttSubscriberSettings> & Partial<MqttClientSettings> = {},
  { parts } = house,
) {
  opened += 1
  const connected = notes<unknown>()
  const identify = async (deviceId: string) => (deviceId === 'stranger' ? undefined : device(deviceId))
  const subscriber = mqttSubscriber(parts, identify, settings)
  const kept = keepMqttClient(
    { url, clientId: `drover-south-${opened}`, firstPauseMs: 20, longestPauseMs: 100, ...settings },
    {
      onOpen: connection => subscriber.onOpen(connection),
      onConnect(connection) {
        connection.client.once('packetreceive', function look(packet) {
          if (packet.cmd === 'suback') connected.add(connection)
          else connection.client.once('packetreceive', look)
        })
        subscriber.onConnect(connection)
      },
    },
    silentLog,
  )
  const south = { kept, subscriber, connected }
  onTestFinished(async () => {
    await subscriber.stop(100)
    await kept.stop()
  })
  await connected.until(1)
  return south
}

function openLink(kept: KeptMqttClient, refusals = brokerRefusals(silentLog)) {
  return externalLink({ kept, refusals, isOnlyOne: async () => true })
}

/** A device that subscribes at every connect and says when it has. */
async function connectDevice(url: string, deviceId: string) {
  const client = connect(url, { clientId: `device-${deviceId}`, clean: false, reconnectPeriod: 50, resubscribe: false })
  onTestFinished(() => void client.end(true))
  const requests = notes<{ id: string }>()
  const subscribed = notes<void>()
  client.on('error', () => {})
  client.on('message', (_topic, payload) => requests.add({ id: JSON.parse(payload.toString()).operation.request.id }))
  client.on('connect', () => {
    client.subscribe(`odm/request/${deviceId}`, { qos: 1 }, error => {
      if (!error) subscribed.add()
    })
  })
  await subscribed.until(1)
  return { client, requests, subscribed }
}

const response = (id: string, members: Record<string, unknown> = {}) =>
  JSON.stringify({ operation: { response: { id, ...members } } })

describe.skipIf(mosquittoProgram === undefined)('behind an external broker', () => {
  test('that lets Drover publish nothing, requests are held back and counted, and the connection stays', async () => {
    const broker = await mosquitto(async folder => {
      await writeFile(`${folder}/acl`, ['topic read #', 'topic write odm/request/let'].join('\n'))
      return ['allow_anonymous true', `acl_file ${folder}/acl`]
    })
    const { kept } = await openSouth(broker.url)
    const counted = notes<number>()
    const refusals = brokerRefusals(silentLog, { count: reason => counted.add(reason), firstPauseMs: 600_000 })
    const connector = mqttConnector(openLink(kept, refusals))
    const reports = bookReports()
    const [asked, other] = [request({ deviceId: 'kept-out' }), request({ deviceId: 'let' })]
    reports.send(connector, [asked])
    expect(await reports.until(1, asked)).toEqual([{ seen: 'notSent' }])
    expect(connector.room?.()(asked)).toBe(false)
    expect(connector.room?.()(other)).toBe(true)
    reports.send(connector, [other])
    expect(await reports.until(1, other)).toEqual([{ seen: 'sent' }])
    expect(counted.all).toEqual([0x87])
    expect(kept.live()).toBeDefined()
  })

  test('that takes packets up to a length, a longer request is reported so, and the connection stays', async () => {
    const broker = await mosquitto(async () => ['allow_anonymous true', 'max_packet_size 5000'])
    const { kept, connected } = await openSouth(broker.url)
    const connector = mqttConnector(openLink(kept))
    const reports = bookReports()
    const [long, short] = [request({}, { parameters: { text: 'x'.repeat(6_000) } }), request()]
    reports.send(connector, [long, short])
    expect(await reports.until(1, long)).toEqual([
      { seen: 'unreachable', description: 'the MQTT broker takes packets of at most 5000 bytes' },
    ])
    expect(await reports.until(1, short)).toEqual([{ seen: 'sent' }])
    expect(connected.all).toHaveLength(1)
  })

  test('that refuses a length without having told, the request that breaks the connection lets others through', async () => {
    const broker = await mosquitto(async () => ['allow_anonymous true', 'message_size_limit 5000'])
    const { kept, connected } = await openSouth(broker.url)
    const connector = mqttConnector(openLink(kept, brokerRefusals(silentLog, { firstPauseMs: 600_000 })))
    const long = request({}, { parameters: { text: 'x'.repeat(6_000) } })
    for (const times of [1, 2]) {
      const reports = bookReports()
      reports.send(connector, [long])
      expect(await reports.until(1)).toEqual([{ seen: 'notSent' }])
      await connected.until(times + 1)
    }
    expect(connector.room?.()(long)).toBe(false)
    const reports = bookReports()
    reports.send(connector, [long, request()])
    expect((await reports.until(2)).map(({ seen }) => seen).sort()).toEqual(['notSent', 'sent'])
    expect(connected.all).toHaveLength(3)
  })

  test.for([4, 5] as const)(
    'speaking MQTT version %i, requests reach devices and their messages reach the house',
    async protocolVersion => {
      const { url } = await mosquitto()
      const { kept } = await openSouth(url, { protocolVersion })
      const pump = await connectDevice(url, 'pump-1')
      const connector = mqttConnector(openLink(kept))
      const reports = bookReports()
      const asked = request()
      reports.send(connector, [asked])
      expect(await reports.until(1)).toEqual([{ seen: 'sent' }])
      expect(await pump.requests.until(1)).toMatchObject([{ id: asked.id }])
      await pump.client.publishAsync('odm/response/pump-1', response(asked.id, { resultCode: 'SUCCESSFUL' }), {
        qos: 1,
      })
      expect(await house.messages.until(1)).toMatchObject([
        { operationId: asked.id, deviceId: 'pump-1', organization: 1, resultCode: 'SUCCESSFUL' },
      ])
      await pump.client.publishAsync('odm/iot/pump-1', '{"datastreams":[]}', { qos: 0 })
      await house.collected.until(1)
      await pump.client.publishAsync('odm/operationOnDemand/pump-1', '', { qos: 2 })
      expect(await house.presence.until(3)).toEqual([
        ['heard', 'pump-1'],
        ['heard', 'pump-1'],
        ['called', 'pump-1'],
      ])
      await pump.client.publishAsync('odm/response/stranger', response('x'), { qos: 1 })
      expect(await house.refusals.until(1)).toEqual(['unauthorized'])
    },
  )

  test('messages are taken side by side, each acknowledged after its own commit', async () => {
    const { url } = await mosquitto()
    const { kept } = await openSouth(url)
    const commits = new Map<string, () => void>()
    house.onSubmit = ({ operationId }) => new Promise(resolve => commits.set(operationId, () => resolve('taken')))
    const pump = await connectDevice(url, 'pump-1')
    for (const id of ['a', 'b', 'c']) await pump.client.publishAsync('odm/response/pump-1', response(id), { qos: 1 })
    await house.messages.until(3)
    // Only the second is committed when the connection breaks: the first and the third come again.
    commits.get('b')?.()
    await new Promise(setImmediate)
    kept.live()?.client.stream.destroy()
    await house.messages.until(5)
    expect(
      house.messages.all
        .slice(3)
        .map(({ operationId }) => operationId)
        .sort(),
    ).toEqual(['a', 'c'])
  })

  test('what cannot be written now is written later and not lost', async () => {
    const { url } = await mosquitto()
    await openSouth(url)
    let failures = 3
    house.onSubmit = async () => {
      failures -= 1
      if (failures >= 0) throw new Error('the database is gone')
      return 'taken'
    }
    const pump = await connectDevice(url, 'pump-1')
    await pump.client.publishAsync('odm/response/pump-1', response('a'), { qos: 1 })
    await house.messages.until(4)
    expect(house.refusals.all).toEqual([])
  })

  test('several souths share the messages: each is taken once', async () => {
    const { url } = await mosquitto()
    const other = standIns()
    await openSouth(url)
    await openSouth(url, {}, other)
    const pump = await connectDevice(url, 'pump-1')
    const ids = Array.from({ length: 200 }, (_, k) => `op-${k}`)
    await Promise.all(ids.map(id => pump.client.publishAsync('odm/response/pump-1', response(id), { qos: 1 })))
    const total = async () => {
      while (house.messages.all.length + other.messages.all.length < ids.length) {
        await Promise.race([
          house.messages.until(house.messages.all.length + 1),
          other.messages.until(other.messages.all.length + 1),
        ])
      }
      return [...house.messages.all, ...other.messages.all].map(({ operationId }) => operationId)
    }
    expect((await total()).sort()).toEqual(ids.sort())
    expect(house.messages.all.length).toBeGreaterThan(0)
    expect(other.messages.all.length).toBeGreaterThan(0)
  })

  test('while a south is away the broker keeps the messages for its session', async () => {
    const { url } = await mosquitto()
    const { kept, subscriber } = await openSouth(url, { clientId: 'south-a' })
    await subscriber.stop(1000)
    await kept.stop()
    const pump = await connectDevice(url, 'pump-1')
    await pump.client.publishAsync('odm/response/pump-1', response('meanwhile'), { qos: 1 })
    expect(house.messages.all).toEqual([])
    await openSouth(url, { clientId: 'south-a' })
    expect(await house.messages.until(1)).toMatchObject([{ operationId: 'meanwhile' }])
  })

  test('what devices say between the restart of the broker and the return of the one south that subscribes alone is kept for it', async () => {
    const broker = await mosquitto()
    const wire = await drawWire(broker.url)
    onTestFinished(() => wire.close())
    const { connected, kept } = await openSouth(wire.url, { shared: false })
    const pump = await connectDevice(broker.url, 'pump-1')
    const lost = new Promise(resolve => kept.live()?.lost.addEventListener('abort', resolve))
    wire.isBroken = true
    wire.cut()
    await lost
    await broker.kill('SIGTERM')
    await broker.start()
    await pump.subscribed.until(2)
    await pump.client.publishAsync('odm/response/pump-1', response('meanwhile'), { qos: 1 })
    expect(house.messages.all).toEqual([])
    wire.isBroken = false
    await connected.until(2)
    expect(await house.messages.until(1)).toMatchObject([{ operationId: 'meanwhile' }])
  })

  test.for([true, false])(
    'a south whose setting was shared: %s, and is so no more, gets no message twice',
    async before => {
      const { url } = await mosquitto()
      const first = await openSouth(url, { clientId: 'south-a', shared: before })
      await first.subscriber.stop(1000)
      await first.kept.stop()
      const { kept } = await openSouth(url, { clientId: 'south-a', shared: !before })
      // The order of a connection: what was asked before is done.
      await kept.live()!.client.subscribeAsync('odm/response/none', { qos: 1 })
      const pump = await connectDevice(url, 'pump-1')
      for (const id of ['a', 'b']) await pump.client.publishAsync('odm/response/pump-1', response(id), { qos: 1 })
      await house.messages.until(2)
      await kept.live()!.client.subscribeAsync('odm/response/none', { qos: 1 })
      expect(house.messages.all.map(({ operationId }) => operationId)).toEqual(['a', 'b'])
    },
  )

  test('while the broker is away nothing is sent, and a request is not sent late', async () => {
    const broker = await mosquitto()
    const { kept, connected } = await openSouth(broker.url)
    const connector = mqttConnector(openLink(kept))
    const pump = await connectDevice(broker.url, 'pump-1')
    const lost = new Promise(resolve => kept.live()?.lost.addEventListener('abort', resolve))
    await broker.kill('SIGKILL')
    await lost
    const reports = bookReports()
    const stale = request()
    reports.send(connector, [stale])
    expect(await reports.until(1)).toEqual([{ seen: 'notSent' }])
    expect(connector.capacity()).toBe(0)
    await broker.start()
    await connected.until(2)
    await pump.subscribed.until(2)
    const fresh = request()
    reports.send(connector, [fresh])
    await reports.until(1, fresh)
    expect(await pump.requests.until(1)).toMatchObject([{ id: fresh.id }])
  })

  test('five thousand operations over a broker killed and started again all end', async () => {
    const broker = await mosquitto()
    const { kept } = await openSouth(broker.url)
    const link = openLink(kept)
    const connector = mqttConnector(link)
    const pump = await connectDevice(broker.url, 'pump-1')
    pump.client.on('message', (_topic, payload) => {
      const { id } = JSON.parse(payload.toString()).operation.request
      pump.client.publish('odm/response/pump-1', response(id, { resultCode: 'SUCCESSFUL' }), { qos: 1 }, () => {})
    })
    const open = new Map(Array.from({ length: 5000 }, () => request()).map(asked => [asked.id, asked]))
    const ready = [...open.values()]
    let killed = false
    const { promise: done, resolve } = Promise.withResolvers<void>()
    house.onSubmit = async ({ operationId }) => {
      open.delete(operationId)
      if (open.size === 0) resolve()
      if (open.size < 3000 && !killed) {
        killed = true
        void broker.kill('SIGKILL').then(() => broker.start())
      }
      return 'taken'
    }
    // As the engine does it: what was not sent is claimed again, and what is not answered is retried.
    const sent = new Map<string, number>()
    const turn = setInterval(() => {
      const batch = ready.splice(0, connector.capacity())
      for (const [id, at] of sent) {
        if (open.has(id) && performance.now() - at > 3000) {
          sent.delete(id)
          ready.push(open.get(id)!)
        }
      }
      connector.send(batch, (asked, { seen }) => {
        if (seen === 'sent') sent.set(asked.id, performance.now())
        else ready.push(asked)
      })
    }, 5)
    onTestFinished(() => clearInterval(turn))
    await done
    expect(killed).toBe(true)
    expect(open.size).toBe(0)
  })
})
