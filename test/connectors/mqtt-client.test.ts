import { once } from 'node:events'
import { createServer } from 'node:net'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { keepMqttClient, type MqttClientSettings, type Timers } from '../../src/connectors/mqtt-client.ts'
import { growingPauses } from '../../src/domain/growing-pauses.ts'
import { silentLog } from '../database.ts'
import { notes } from '../south/parts.ts'
import { brokerDouble } from './broker-double.ts'

/** Time that stands still but for what a test says; what is to be done later is noted, and done at once. */
function standingTime() {
  const pauses = notes<number>()
  const time = { now: 0 }
  const timers: Timers = {
    now: () => time.now,
    after(ms, act) {
      pauses.add(ms)
      const acting = setImmediate(act)
      return () => clearImmediate(acting)
    },
  }
  return { pauses, time, timers }
}

function keep(url: string, timers: Timers, settings: Partial<MqttClientSettings> = {}) {
  const kept = keepMqttClient(
    { url, clientId: 'node', firstPauseMs: 250, longestPauseMs: 15_000, random: () => 0.999_999, timers, ...settings },
    {},
    silentLog,
  )
  onTestFinished(() => kept.stop())
  return kept
}

const DOUBLING = [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]
const rounded = (pauses: readonly number[]) => pauses.slice(0, DOUBLING.length).map(Math.round)

describe('a connection to a broker that is lost', () => {
  test('is made again after pauses that double up to the longest, where the broker refuses', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    server.close()
    const { pauses, timers } = standingTime()
    keep(`mqtt://127.0.0.1:${port}`, timers)
    expect(rounded(await pauses.until(DOUBLING.length))).toEqual(DOUBLING)
  })

  test('and where the broker accepts and then drops it, however often', async () => {
    const broker = await brokerDouble()
    broker.onAccepted = socket => socket.end()
    const { pauses, timers } = standingTime()
    keep(broker.url, timers)
    expect(rounded(await pauses.until(DOUBLING.length))).toEqual(DOUBLING)
    expect(broker.connections.all.length).toBeGreaterThanOrEqual(DOUBLING.length)
  })

  test('is soon made again once it has held for a while', async () => {
    const broker = await brokerDouble()
    const { pauses, time, timers } = standingTime()
    const heldMs = [0, 29_999, 30_000, 0, 3_600_000]
    broker.onAccepted = socket => {
      const held = heldMs.shift()
      if (held === undefined) return
      // The client has to have seen that it was let in.
      setImmediate(() => {
        const look = () => {
          if (kept.live() === undefined) return void setImmediate(look)
          time.now += held
          socket.end()
        }
        look()
      })
    }
    const kept = keep(broker.url, timers)
    expect((await pauses.until(5)).map(Math.round)).toEqual([250, 500, 250, 500, 250])
  })

  test('is made no more once it is kept no more', async () => {
    const broker = await brokerDouble()
    const scheduled = notes<() => void>()
    const left = { count: 0 }
    const kept = keep(broker.url, {
      now: () => 0,
      after(_ms, act) {
        scheduled.add(act)
        return () => {
          left.count += 1
        }
      },
    })
    const [socket] = await broker.connections.until(1)
    socket!.destroy()
    await scheduled.until(1)
    await kept.stop()
    expect(left.count).toBe(1)
    expect(broker.connections.all).toHaveLength(1)
  })
})

describe('pauses', () => {
  const settings = { firstPauseMs: 250, longestPauseMs: 15_000, steadyMs: 30_000 }

  test('lie between a half and the whole of what doubles, whatever chance says', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            heldMs: fc.nat({ max: 60_000 }),
            chance: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
          }),
          { maxLength: 40 },
        ),
        losses => {
          let chance = 0
          let failures = 0
          const pauseAfter = growingPauses({ ...settings, random: () => chance })
          for (const loss of losses) {
            chance = loss.chance
            if (loss.heldMs >= 30_000) failures = 0
            const whole = Math.min(250 * 2 ** failures, 15_000)
            const pause = pauseAfter(loss.heldMs)
            expect(pause).toBeGreaterThanOrEqual(whole / 2)
            expect(pause).toBeLessThanOrEqual(whole)
            failures += 1
          }
        },
      ),
    )
  })

  test('of a hundred nodes that lose their broker together are spread over the half of it', () => {
    const pauses = Array.from({ length: 100 }, (_, k) =>
      growingPauses({ ...settings, random: () => (k + 0.5) / 100 })(0),
    ).map(Math.floor)
    expect(new Set(pauses).size).toBe(100)
    expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(120)
  })

  test('are left to chance where nothing else is said', async () => {
    const broker = await brokerDouble()
    broker.onAccepted = socket => socket.end()
    const { pauses, timers } = standingTime()
    for (let k = 0; k < 10; k += 1) {
      const kept = keepMqttClient({ url: broker.url, clientId: `node-${k}`, timers }, {}, silentLog)
      onTestFinished(() => kept.stop())
    }
    expect(new Set(await pauses.until(10)).size).toBeGreaterThan(5)
  })
})
