/** How often something may be tried. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createThrottle } from '../../src/domain/throttle.ts'

const rule = { burst: 3, everyMs: 1_000, keysMax: 2 }

test('a key has its burst at once, then one more each time the pause passes', () => {
  const throttle = createThrottle(rule)
  expect([0, 0, 0, 0].map(at => throttle.take('a', at))).toEqual([0, 0, 0, 1_000])
  expect(throttle.take('a', 999)).toBe(1)
  expect(throttle.take('a', 1_000)).toBe(0)
  expect(throttle.take('a', 1_000)).toBe(1_000)
  expect(throttle.take('b', 1_000)).toBe(0)
})

test('a try given back is a try again', () => {
  const throttle = createThrottle(rule)
  for (let i = 0; i < 10; i++) {
    expect(throttle.take('a', 0)).toBe(0)
    throttle.giveBack('a')
  }
})

test('over any span a key has no more tries than its burst and what came back', () => {
  const tries = fc.array(fc.nat(5_000), { minLength: 1, maxLength: 100 })
  fc.assert(
    fc.property(tries, times => {
      const throttle = createThrottle(rule)
      const granted = times.toSorted((a, b) => a - b).filter(at => throttle.take('a', at) === 0)
      for (const [i, from] of granted.entries()) {
        for (const [j, to] of granted.entries()) {
          if (j >= i) expect(j - i + 1).toBeLessThanOrEqual(rule.burst + Math.floor((to - from) / rule.everyMs))
        }
      }
    }),
  )
})

test('no more keys are remembered than allowed', () => {
  const throttle = createThrottle(rule)
  for (let i = 0; i < 3; i++) throttle.take('a', 0)
  expect(throttle.take('a', 0)).toBeGreaterThan(0)
  throttle.take('b', 0)
  throttle.take('c', 0)
  expect(throttle.take('a', 0)).toBe(0)
})
