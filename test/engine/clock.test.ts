import { describe, expect, test } from 'vitest'
import { createClock } from '../../src/engine/clock.ts'
import { createVirtualClock } from '../virtual-clock.ts'

const startAt = new Date('2026-05-01T00:00:00Z')
const later = (ms: number) => new Date(startAt.getTime() + ms)
const never = new AbortController().signal

describe('the system clock', () => {
  test('it never runs backwards, though its source does', () => {
    const source = [1_000, 900, 1_100]
    const clock = createClock(() => source.shift() ?? 0)
    expect([clock.now(), clock.now(), clock.now()].map(Number)).toEqual([1_000, 1_000, 1_100])
  })

  test('it goes on at half the pace while its source, which has stepped back, catches up', () => {
    let source = 1_000_000
    const clock = createClock(() => source)
    const read = (at: number) => {
      source = at
      return clock.now().getTime()
    }
    expect([read(1_000_000), read(400_000), read(400_100), read(800_100)]).toEqual([
      1_000_000, 1_000_000, 1_000_050, 1_200_050,
    ])
    expect([read(1_200_000), read(1_600_100), read(1_600_200)]).toEqual([1_400_000, 1_600_100, 1_600_200])
  })

  test('a sleep ends, though the source has stepped back by an hour meanwhile', async () => {
    let behindMs = 0
    const clock = createClock(() => Date.now() - behindMs)
    const at = new Date(clock.now().getTime() + 20)
    behindMs = 3_600_000
    await clock.sleepUntil(at, never)
    expect(clock.now().getTime()).toBeGreaterThanOrEqual(at.getTime())
  })

  test('a sleep ends not before its instant, and at once when that is past', async () => {
    const clock = createClock(Date.now)
    const at = new Date(clock.now().getTime() + 20)
    await clock.sleepUntil(at, never)
    expect(clock.now().getTime()).toBeGreaterThanOrEqual(at.getTime())
    await clock.sleepUntil(startAt, never)
  })

  test('an abort ends a sleep early and without an error', async () => {
    const clock = createClock(Date.now)
    const stopping = new AbortController()
    const sleep = clock.sleepUntil(new Date(clock.now().getTime() + 3_600_000), stopping.signal)
    stopping.abort()
    await expect(sleep).resolves.toBeUndefined()
  })
})

describe('the virtual clock', () => {
  test('it wakes sleepers in the order of their instants, each at its own', async () => {
    const clock = createVirtualClock(startAt)
    const woken: [string, Date][] = []
    const sleeper = async (name: string, ms: number) => {
      await clock.sleepUntil(later(ms), never)
      woken.push([name, clock.now()])
    }
    const all = [sleeper('late', 300), sleeper('early', 100), sleeper('far', 10_000)]
    expect(clock.nextWakeUp()).toEqual(later(100))
    await clock.advanceTo(later(1_000))
    expect(woken).toEqual([
      ['early', later(100)],
      ['late', later(300)],
    ])
    expect(clock.now()).toEqual(later(1_000))
    await clock.advanceBy(9_000)
    await Promise.all(all)
    expect(clock.nextWakeUp()).toBeNull()
  })

  test('an aborted sleeper is woken and forgotten', async () => {
    const clock = createVirtualClock(startAt)
    const stopping = new AbortController()
    const sleep = clock.sleepUntil(later(100), stopping.signal)
    stopping.abort()
    await sleep
    expect(clock.nextWakeUp()).toBeNull()
    expect(clock.now()).toEqual(startAt)
  })
})
