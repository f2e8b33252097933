import { expect, test } from 'vitest'
import { createTrust } from '../../src/engine/trust.ts'

test('trust holds until it is lost, and comes back after so many careful times', () => {
  const trust = createTrust(3)
  expect([trust.holds(), trust.holds()]).toEqual([true, true])
  trust.lose()
  const held = [1, 2, 3, 4].map(() => {
    const holds = trust.holds()
    if (!holds) trust.spend()
    return holds
  })
  expect(held).toEqual([false, false, false, true])
})
