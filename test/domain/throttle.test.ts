/** How often something may be tried. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { networkOf, restedAfterTry, type ThrottleRule, waitBeforeTry } from '../../src/domain/throttle.ts'

const rule = { burst: 3, everyMs: 1_000 }

/** One key, tried at instants one after another; answers the wait at each. */
function tried(rule: ThrottleRule, ats: readonly number[]): number[] {
  let restedAt = 0
  return ats.map(at => {
    const waitMs = waitBeforeTry(rule, restedAt, at)
    if (waitMs === 0) restedAt = restedAfterTry(rule, restedAt, at)
    return waitMs
  })
}

test('a key has its burst at once, then one more each time the pause passes', () => {
  expect(tried(rule, [0, 0, 0, 0, 999, 1_000, 1_000])).toEqual([0, 0, 0, 1_000, 1, 0, 1_000])
})

test('over any span a key has no more tries than its burst and what came back', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5_000), { minLength: 1, maxLength: 100 }), times => {
      const ats = times.toSorted((a, b) => a - b)
      const waits = tried(rule, ats)
      const granted = ats.filter((_, index) => waits[index] === 0)
      for (const [i, from] of granted.entries()) {
        for (const [j, to] of granted.entries()) {
          if (j >= i) expect(j - i + 1).toBeLessThanOrEqual(rule.burst + Math.floor((to - from) / rule.everyMs))
        }
      }
    }),
  )
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2'],
  ['2001:db8::9', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
