import { expect, test } from 'vitest'
import { type BrokerRefusalSettings, brokerRefusals } from '../../src/connectors/broker-refusals.ts'

function book(settings: BrokerRefusalSettings = {}) {
  const time = { now: 0 }
  const said: unknown[] = []
  const log = {
    warn: (what: unknown) => void said.push(what),
    info: (word: unknown) => void said.push(word),
  }
  return { time, said, refusals: brokerRefusals(log, { now: () => time.now, random: () => 0, ...settings }) }
}

test('the pauses of a device double up to the longest, and begin anew once something for it was taken', () => {
  const { time, refusals } = book({ firstPauseMs: 1_000, longestPauseMs: 4_000 })
  const pauses = () =>
    [1, 2, 3, 4].map(() => {
      const since = time.now
      refusals.refused(1n, 0x87)
      while (!refusals.isDue(1n)) time.now += 100
      return time.now - since
    })
  expect(pauses()).toEqual([500, 1_000, 2_000, 2_000])
  refusals.taken(1n)
  expect(pauses()).toEqual([500, 1_000, 2_000, 2_000])
})

test('a word is said when refusals begin, when their reason changes and when they end, however many there are', () => {
  const { said, refusals } = book()
  for (const device of [1n, 2n, 1n, 2n]) refusals.refused(device, 0x87)
  refusals.taken(3n)
  refusals.refused(1n, 0x87)
  refusals.refused(2n, 0x97)
  refusals.refused(1n, 0x97)
  refusals.taken(1n)
  refusals.taken(2n)
  refusals.taken(2n)
  expect(said).toEqual([
    { reason: 'refused with 0x87' },
    { reason: 'refused with 0x97' },
    'the MQTT broker takes what it did not take before',
  ])
})

test('devices that are sent nothing more are forgotten, and many of them take no more room than few', () => {
  const { time, said, refusals } = book()
  refusals.refused(0n, 0x87)
  for (let device = 1n; device <= 30_000n; device += 1n) refusals.refused(device, 0x87)
  expect(refusals.isDue(0n)).toBe(true)
  expect(refusals.isDue(30_000n)).toBe(false)
  time.now = 3_600_000
  refusals.refused(1n, 0x87)
  expect(said).toHaveLength(2)
})

test('a connection that breaks once puts nobody off', () => {
  const { said, refusals } = book()
  for (const device of [1n, 2n]) refusals.lost(device)
  expect([refusals.isDue(1n), refusals.isDue(2n)]).toEqual([true, true])
  refusals.taken(1n)
  refusals.lost(1n)
  refusals.lost(2n)
  expect([refusals.isDue(1n), refusals.isDue(2n)]).toEqual([true, false])
  expect(said).toEqual([{ reason: 'on the way again when the connection was lost' }])
})
