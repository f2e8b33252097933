import { EventEmitter, once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createClock } from '../../src/engine/clock.ts'
import { createLoop } from '../../src/engine/loop.ts'
import { silentLog } from '../database.ts'
import { stressLoop } from '../loop-stress.ts'
import { createVirtualClock } from '../virtual-clock.ts'

const startAt = new Date('2026-05-01T00:00:00Z')
const later = (ms: number) => new Date(startAt.getTime() + ms)

test('a loop runs at once, then at the instant its run named, then at the poll', async () => {
  const clock = createVirtualClock(startAt)
  const runs: Date[] = []
  const answers = [later(300), null]
  const loop = createLoop({
    name: 'test-loop',
    clock,
    log: silentLog,
    runOnce: async now => {
      runs.push(now)
      return answers.shift() ?? null
    },
  })
  loop.start()
  await clock.asleep(1)
  await clock.advanceBy(4_500, 1)
  await loop.stop()
  expect(runs).toEqual([later(0), later(300), later(2_300), later(4_300)])
})

test('a loop sleeps no longer than its poll, though its next work be far', async () => {
  const clock = createVirtualClock(startAt)
  const loop = createLoop({
    name: 'test-loop',
    clock,
    log: silentLog,
    pollMs: 500,
    runOnce: async () => later(3_600_000),
  })
  loop.start()
  await clock.asleep(1)
  expect(clock.nextWakeUp()).toEqual(later(500))
  await loop.stop()
})

test('a wake-up brings the next run at once, also when it comes during a run', async () => {
  const clock = createVirtualClock(startAt)
  let runs = 0
  const loop = createLoop({
    name: 'test-loop',
    clock,
    log: silentLog,
    pollMs: Number.POSITIVE_INFINITY,
    runOnce: async () => {
      runs++
      if (runs === 1) loop.wake()
      return null
    },
  })
  loop.start()
  await clock.asleep(1)
  expect(runs).toBe(2)
  loop.wake()
  await nextTurn()
  await clock.asleep(1)
  expect(runs).toBe(3)
  expect(clock.now()).toEqual(startAt)
  await loop.stop()
})

test('a failing run is tried again after growing pauses and never ends the loop', async () => {
  const clock = createVirtualClock(startAt)
  const runs: Date[] = []
  const loop = createLoop({
    name: 'test-loop',
    clock,
    log: silentLog,
    runOnce: async now => {
      runs.push(now)
      if (runs.length < 4) throw new Error('the database is away')
      return null
    },
  })
  loop.start()
  await clock.asleep(1)
  await clock.advanceBy(700, 1)
  await loop.stop()
  expect(runs).toEqual([later(0), later(100), later(300), later(700)])
})

test('a wake-up shortens no pause after a failure, and the run behind the pause does what it asked for', async () => {
  const clock = createVirtualClock(startAt)
  const runs: Date[] = []
  const loop = createLoop({
    name: 'test-loop',
    clock,
    log: silentLog,
    pollMs: Number.POSITIVE_INFINITY,
    runOnce: async now => {
      runs.push(now)
      if (runs.length < 3) throw new Error('one row cannot be written')
      return null
    },
  })
  loop.start()
  await clock.asleep(1)
  for (let ms = 0; ms < 400; ms += 5) {
    loop.wake()
    await clock.advanceBy(5, 1)
  }
  await loop.stop()
  expect(runs.slice(0, 3)).toEqual([later(0), later(100), later(300)])
  expect(runs.length).toBeGreaterThan(3)
})

test('a stop ends the pause after a failure at once', async () => {
  const clock = createVirtualClock(startAt)
  const loop = createLoop({
    name: 'test-loop',
    clock,
    log: silentLog,
    runOnce: () => Promise.reject(new Error('the database is away')),
  })
  loop.start()
  await clock.asleep(1)
  await loop.stop()
  expect(clock.now()).toEqual(startAt)
})

test('a loop that fails rests between its runs as one that does not', async () => {
  const clock = createVirtualClock(startAt)
  const runs: Date[] = []
  const loop = createLoop({
    name: 'test-loop',
    clock,
    log: silentLog,
    restMs: 1_000,
    runOnce: async now => {
      runs.push(now)
      throw new Error('the database is away')
    },
  })
  loop.start()
  await clock.asleep(1)
  await clock.advanceBy(2_000, 1)
  await loop.stop()
  expect(runs).toEqual([later(0), later(1_000), later(2_000)])
})

test('stop aborts the signal, waits for the run in hand, and no run follows', async () => {
  const events = new EventEmitter()
  const ending = Promise.withResolvers<void>()
  let runs = 0
  const loop = createLoop({
    name: 'test-loop',
    clock: createClock(Date.now),
    log: silentLog,
    runOnce: async (_now, signal) => {
      runs++
      events.emit('running')
      await once(signal, 'abort')
      await ending.promise
      return null
    },
  })
  const running = once(events, 'running')
  loop.start()
  await running
  let stopped = false
  const stopping = loop.stop().then(() => {
    stopped = true
  })
  await nextTurn()
  expect(stopped).toBe(false)
  ending.resolve()
  await stopping
  loop.wake()
  await nextTurn()
  expect(runs).toBe(1)
})

test('a run asked for by hand comes after the run in hand, with the instant it was given, and fails to its caller', async () => {
  const loop = createLoop({
    name: 'test-loop',
    clock: createVirtualClock(startAt),
    log: silentLog,
    runOnce: async now => {
      if (now > startAt) throw new Error('too late')
      return later(5)
    },
  })
  expect(await loop.runOnce(startAt)).toEqual(later(5))
  await expect(loop.runOnce(later(1))).rejects.toThrow('too late')
  expect(await loop.runOnce(startAt)).toEqual(later(5))
})

test('a loop that is started, stopped and woken in any order never runs twice at a time and always stops', async () => {
  let running = 0
  const loop = createLoop({
    name: 'test-loop',
    clock: createClock(Date.now),
    log: silentLog,
    pollMs: 1,
    runOnce: async () => {
      running++
      await nextTurn()
      running--
      return null
    },
  })
  await stressLoop(loop, () => running)
})
