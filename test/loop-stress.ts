/** The one stress test of the start/stop contract: every real loop is run through it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Loop } from '../src/engine/loop.ts'

/**
 * Starts, stops and wakes the loop in random order, much of it at the same time, and asserts that every stop resolves, that nothing
 * is left running, and that the loop still starts afterwards. `running` tells how many runs are in hand, where the test can know.
 */
export async function stressLoop(loop: Loop, running: () => number = () => 0): Promise<void> {
  const act = fc.constantFrom('start', 'stop', 'wake', 'wait for a stop', 'let others work')
  const property = fc.asyncProperty(fc.array(act, { maxLength: 60 }), async acts => {
    const stops: Promise<void>[] = []
    for (const each of acts) {
      if (each === 'start') loop.start()
      if (each === 'wake') loop.wake()
      if (each === 'stop') stops.push(loop.stop())
      if (each === 'wait for a stop') await loop.stop()
      if (each === 'let others work') await nextTurn()
      expect(running()).toBeLessThanOrEqual(1)
    }
    stops.push(loop.stop())
    await Promise.all(stops)
    expect(running()).toBe(0)
    loop.wake()
    await nextTurn()
    expect(running()).toBe(0)
    loop.start()
    loop.start()
    await loop.stop()
    expect(running()).toBe(0)
  })
  await fc.assert(property, { numRuns: 30 })
}
