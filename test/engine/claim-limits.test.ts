import { expect, test } from 'vitest'
import { claimLimits } from '../../src/engine/claim-limits.ts'
import type { RoutedAddress } from '../../src/engine/request-sender.ts'

const JOB = 7n
const NOW = 1_000_000
const hasRoom = () => true
const hasNone = () => false
const held = (count: number): RoutedAddress[] =>
  Array.from({ length: count }, (_, i) => ({
    key: { job: JOB, partition: 0, entity: BigInt(i) },
    flow: 'http',
    device: { organization: 1, deviceId: `d${i}`, partition: 0, entity: BigInt(i), parametersAs: 'typed' },
  }))

test('a job of which everything found room may be claimed without limit', () => {
  const limits = claimLimits()
  limits.note(new Map([[JOB, 1_000]]), [], NOW)
  expect(limits.most(JOB, hasRoom, NOW)).toBe(Number.POSITIVE_INFINITY)
})

test('where some found no room, a quarter more than were sent is claimed next', () => {
  const limits = claimLimits()
  limits.note(new Map([[JOB, 1_000]]), held(600), NOW)
  expect(limits.most(JOB, hasRoom, NOW)).toBe(500)
})

test('once all find room again, twice as many are claimed next', () => {
  const limits = claimLimits()
  limits.note(new Map([[JOB, 1_000]]), held(600), NOW)
  limits.note(new Map([[JOB, 500]]), [], NOW)
  expect(limits.most(JOB, hasRoom, NOW)).toBe(1_000)
})

test('where none was sent, nothing is claimed before there is room for one of them', () => {
  const limits = claimLimits()
  limits.note(new Map([[JOB, 100]]), held(100), NOW)
  expect(limits.most(JOB, hasNone, NOW)).toBe(0)
  expect(limits.most(JOB, hasRoom, NOW)).toBeGreaterThan(0)
})
