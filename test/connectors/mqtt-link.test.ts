import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type BrokerRefusalSettings, brokerRefusals } from '../../src/connectors/broker-refusals.ts'
import { keepMqttClient } from '../../src/connectors/mqtt-client.ts'
import { type ExternalLinkSettings, externalLink } from '../../src/connectors/mqtt-link.ts'
import { silentLog } from '../database.ts'
import { notes } from '../south/parts.ts'
import { brokerDouble } from './broker-double.ts'

async function openLink(
  settings?: ExternalLinkSettings,
  receiveMaximum = 100,
  { maximumPacketSize, ...refusing }: BrokerRefusalSettings & { maximumPacketSize?: number } = {},
) {
  const broker = await brokerDouble({ receiveMaximum, ...(maximumPacketSize && { maximumPacketSize }) })
  const made = notes<void>()
  const kept = keepMqttClient(
    { url: broker.url, clientId: 'node', firstPauseMs: 1, longestPauseMs: 10 },
    { onConnect: () => made.add() },
    silentLog,
  )
  onTestFinished(() => kept.stop())
  await made.until(1)
  const link = externalLink(
    { kept, refusals: brokerRefusals(silentLog, refusing), isOnlyOne: async ({ deviceId }) => deviceId !== 'twin' },
    settings,
  )
  const hand = (deviceId: string, entity = 1n) => link.hand({ deviceId, entity }, Buffer.from(deviceId), 60_000)
  return { broker, link, hand, made }
}

describe('a broker that acknowledges slowly', () => {
  test('is given a request once, and the request is sent when it is acknowledged, however late', async () => {
    const { broker, hand } = await openLink()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const handed = hand('pump-1')
    let told: unknown
    const telling = handed.then(seen => {
      told = seen
    })
    const [message] = await broker.messages.until(1)
    await vi.advanceTimersByTimeAsync(59_000)
    expect(told).toBeUndefined()
    message!.acknowledge()
    await telling
    expect(told).toBe('sent')
    expect(broker.messages.all).toMatchObject([{ topic: 'odm/request/pump-1', expiresS: 60 }])
  })

  test('is given no more than it takes at once, and more as it acknowledges', async () => {
    const { broker, link, hand } = await openLink({ inFlightMax: 1000 }, 3)
    expect(link.capacity()).toBe(3)
    const first = ['a', 'b', 'c'].map(id => hand(id))
    const [message] = await broker.messages.until(3)
    expect(link.capacity()).toBe(0)
    expect(await hand('d')).toBe('notSent')
    message!.acknowledge()
    expect(await first[0]).toBe('sent')
    expect(link.capacity()).toBe(1)
    const next = hand('e')
    const all = await broker.messages.until(4)
    expect(all.map(({ payload }) => payload)).toEqual(['a', 'b', 'c', 'e'])
    for (const each of all.slice(1)) each.acknowledge()
    expect(await Promise.all([...first, next])).toEqual(Array(4).fill('sent'))
    expect(link.capacity()).toBe(3)
  })

  test('is given nothing while it leaves much unread', async () => {
    const { broker, link } = await openLink({ unreadBytesMax: 100_000 })
    const [socket] = await broker.connections.until(1)
    socket!.pause()
    const payload = Buffer.alloc(4_000_000)
    const handed: Promise<unknown>[] = []
    // What the machine holds for a reader that reads nothing is not known, but it is bounded.
    await expect
      .poll(
        () => {
          if (link.capacity() > 0) handed.push(link.hand({ deviceId: 'pump-1', entity: 1n }, payload, 60_000))
          return link.capacity()
        },
        { timeout: 45_000 },
      )
      .toBe(0)
    expect(handed.length).toBeLessThan(100)
    expect(await link.hand({ deviceId: 'pump-2', entity: 2n }, Buffer.from('x'), 60_000)).toBe('notSent')
    socket!.resume()
    for (const message of await broker.messages.until(handed.length)) message.acknowledge()
    expect(new Set(await Promise.all(handed))).toEqual(new Set(['sent']))
  })
})

test('what is not acknowledged when the connection is lost was not sent, and takes no room on the next', async () => {
  const { broker, link, hand, made } = await openLink({}, 2)
  const handed = [hand('a'), hand('b')]
  await broker.messages.until(2)
  for (const socket of broker.connections.all) socket.destroy()
  expect(await Promise.all(handed)).toEqual(['notSent', 'notSent'])
  await made.until(2)
  expect(link.capacity()).toBe(2)
})

test('a broker that acknowledges nothing for a minute is as good as gone: the connection is made anew', async () => {
  const { broker, hand, made } = await openLink({ acknowledgeMs: 50 })
  expect(await hand('a')).toBe('notSent')
  await made.until(2)
  expect(broker.messages.all).toHaveLength(1)
})

describe('a broker that refuses', () => {
  test('was not sent the request, counts with its reason, and is given nothing for that device before the pause is over', async () => {
    const time = { now: 0 }
    const counted: number[] = []
    const { broker, link, hand } = await openLink({}, 100, {
      now: () => time.now,
      random: () => 0,
      count: reason => counted.push(reason),
    })
    const handed = hand('a')
    ;(await broker.messages.until(1))[0]!.acknowledge(0x87)
    expect(await handed).toBe('notSent')
    expect(counted).toEqual([0x87])
    expect(link.isDue?.({ deviceId: 'a', entity: 1n })).toBe(false)
    expect(await hand('a')).toBe('notSent')
    const other = hand('b', 2n)
    ;(await broker.messages.until(2))[1]!.acknowledge()
    expect(await other).toBe('sent')
    expect(broker.messages.all.map(({ topic }) => topic)).toEqual(['odm/request/a', 'odm/request/b'])
    time.now = 500
    expect(link.isDue?.({ deviceId: 'a', entity: 1n })).toBe(true)
  })

  test.for([
    [0x90, 'the MQTT broker refuses the topic of the device'],
    [0x99, 'the MQTT broker refuses the format of the request'],
  ] as const)('a request for what it is, with reason %i, is not asked again', async ([reason, refused]) => {
    const { broker, hand } = await openLink()
    const handed = hand('a')
    ;(await broker.messages.until(1))[0]!.acknowledge(reason)
    expect(await handed).toEqual({ refused })
  })

  test('packets beyond a length it told is given none of them', async () => {
    const { broker, link, hand } = await openLink({}, 100, { maximumPacketSize: 200 })
    const long = link.hand({ deviceId: 'a', entity: 1n }, Buffer.alloc(200), 60_000)
    expect(await long).toEqual({ refused: 'the MQTT broker takes packets of at most 200 bytes' })
    const short = hand('b')
    ;(await broker.messages.until(1))[0]!.acknowledge()
    expect(await short).toBe('sent')
  })
})

test('what is on the way each time the connection breaks is given again later each time, and others at once', async () => {
  const time = { now: 0 }
  const { broker, link, hand, made } = await openLink({}, 100, { now: () => time.now, random: () => 0 })
  const breakWith = async (count: number) => {
    const handed = hand('long')
    await broker.messages.until(count)
    broker.connections.all.at(-1)!.destroy()
    expect(await handed).toBe('notSent')
    await made.until(broker.connections.all.length + 1)
  }
  await breakWith(1)
  expect(link.isDue?.({ deviceId: 'long', entity: 1n })).toBe(true)
  await breakWith(2)
  expect(link.isDue?.({ deviceId: 'long', entity: 1n })).toBe(false)
  expect(await hand('long')).toBe('notSent')
  const other = hand('other', 2n)
  ;(await broker.messages.until(3))[2]!.acknowledge()
  expect(await other).toBe('sent')
  time.now = 500
  await breakWith(4)
  time.now = 1_000
  expect(link.isDue?.({ deviceId: 'long', entity: 1n })).toBe(false)
})

test('a request for a device whose id another organization has too is given to no broker', async () => {
  const { broker, hand } = await openLink()
  expect(await hand('twin')).toEqual({ refused: expect.stringContaining('another organization') })
  const other = hand('other', 2n)
  ;(await broker.messages.until(1))[0]!.acknowledge()
  expect(await other).toBe('sent')
  expect(broker.messages.all.map(({ topic }) => topic)).toEqual(['odm/request/other'])
})
