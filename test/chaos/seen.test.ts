import { expect, test } from 'vitest'
import type { ToldEvent } from './fleet.ts'
import { judgeTurns, readEvents } from './seen.ts'

const AT = Date.parse('2026-11-21T10:00:00Z')

test('an operation that came to a device while another of its name was in progress there is found, in whatever order they are told', () => {
  const first = { id: 'first', receivedAt: AT, busyUntil: AT + 5_000 }
  const second = { id: 'second', receivedAt: AT + 4_999, busyUntil: AT + 9_000 }
  const found = ['4: second, REBOOT on a device, came at 10:00:04.999, and first was not answered before 10:00:05.000']
  expect(judgeTurns('REBOOT on a device', [first, second])).toEqual(found)
  expect(judgeTurns('REBOOT on a device', [second, first])).toEqual(found)
})

test('one that came when the other had been answered is not, nor one after a turn whose end nobody knows', () => {
  const first = { id: 'first', receivedAt: AT, busyUntil: AT + 5_000 }
  expect(judgeTurns('it', [first, { id: 'second', receivedAt: AT + 5_000, busyUntil: 0 }])).toEqual([])
  expect(
    judgeTurns('it', [
      { ...first, busyUntil: 0 },
      { id: 'second', receivedAt: AT + 1, busyUntil: 0 },
    ]),
  ).toEqual([])
})

test('what devices told is read by operation: taken is what was delivered, said is what was sent', () => {
  const events: ToldEvent[] = [
    ['received', 'a device', 'op', AT, AT - 10, null, null, 0],
    ['received', 'a device', 'op', AT + 1_000, AT - 10, null, null, 0],
    ['executed', 'a device', 'op', AT + 1_500, AT - 10, null, null, 0],
    ['answered', 'a device', 'op', AT + 2_000, AT - 10, 'part', 'delivered', 5],
    ['answered', 'a device', 'op', AT + 3_000, AT - 10, 'final', 'undelivered', 100],
    ['answered', 'a device', 'op', AT + 4_000, AT - 10, 'final', 'delivered', 100],
  ]
  expect(readEvents({ events }).get('op')).toEqual({
    device: 'a device',
    receivedAt: [AT, AT + 1_000],
    launches: new Map([[AT - 10, [AT, AT + 1_000]]]),
    doneFor: [AT - 10],
    takenAt: [AT + 4_000],
    partsAt: [AT + 2_000],
    finalSentAt: AT + 2_900,
  })
})
