import { expect, test } from 'vitest'
import { isTraced } from '../../src/domain/trace-choice.ts'

const entities = Array.from({ length: 100_000 }, (_, i) => 0x0196_c0a0_d240_0000n + BigInt(i))

test('of a small job every operation is shown, of a large one about as many as may be', () => {
  expect(entities.slice(0, 100).every(entity => isTraced(entity, 100, 100))).toBe(true)
  const shown = entities.filter(entity => isTraced(entity, entities.length, 100))
  expect(shown.length).toBeGreaterThan(50)
  expect(shown.length).toBeLessThan(200)
  expect(entities.some(entity => isTraced(entity, entities.length, 0))).toBe(false)
})
