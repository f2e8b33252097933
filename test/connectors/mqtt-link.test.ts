import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { keepMqttClient } from '../../src/connectors/mqtt-client.ts'
import { type ExternalLinkSettings, externalLink } from '../../src/connectors/mqtt-link.ts'
import { silentLog } from '../database.ts'
import { notes } from '../south/parts.ts'
import { brokerDouble } from './broker-double.ts'

async function openLink(settings?: ExternalLinkSettings, receiveMaximum?: number) {
  const broker = await brokerDouble(receiveMaximum)
  const made = notes<void>()
  const kept = keepMqttClient(
    { url: broker.url, clientId: 'node', firstPauseMs: 1, longestPauseMs: 10 },
    { onConnect: () => made.add() },
    silentLog,
  )
  onTestFinished(() => kept.stop())
  await made.until(1)
  const link = externalLink(kept, settings)
  const hand = (deviceId: string) => link.hand({ deviceId, entity: 1n }, Buffer.from(deviceId), 60_000)
  return { broker, link, hand, made }
}

describe('a broker that acknowledges slowly', () => {
  test('is given a request once, and the request is sent when it is acknowledged, however late', async () => {
    const { broker, hand } = await openLink()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const handed = hand('pump-1')
    let told: string | undefined
    const telling = handed.then(seen => {
      told = seen
    })
    const [message] = await broker.messages.until(1)
    await vi.advanceTimersByTimeAsync(59_000)
    expect(told).toBeUndefined()
    message!.acknowledge()
    await telling
    expect(told).toBe('sent')
    expect(broker.messages.all.map(({ topic }) => topic)).toEqual(['odm/request/pump-1'])
  })

  test('is given no more than it takes at once, and more as it acknowledges', async () => {
    const { broker, link, hand } = await openLink({ inFlightMax: 1000 }, 3)
    expect(link.capacity()).toBe(3)
    const first = ['a', 'b', 'c'].map(hand)
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
    const handed: Promise<string>[] = []
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
