import { expect, test } from 'vitest'
import { inflict } from './faults.ts'
import { judgeAmounts, verdictOf } from './verdict.ts'

const whole = {
  asked: { faults: 2, operations: 100 },
  faults: [{ fault: 'kill a node' }, { fault: 'freeze a node' }],
  operations: 100,
  unclear: [],
} as const

test('a run that did what it was asked for, and found nothing, held', () => {
  expect(judgeAmounts(whole)).toEqual([])
  expect(verdictOf({ wrong: [], leftOut: [] })).toEqual({ word: 'everything held', exitCode: 0 })
})

test.for([
  [
    'with a fault that was not carried out',
    { faults: [...whole.faults.slice(1), { fault: 'kill a node', failure: 'none' }] },
  ],
  ['with fewer faults than asked for', { faults: whole.faults.slice(1) }],
  ['with fewer operations than asked for', { operations: 99 }],
  ['whose clients were answered unclearly', { unclear: ['GET /north: 500'] }],
] as const)('a run %s has not held', ([, less]) => {
  const wrong = judgeAmounts({ ...whole, ...less })
  expect(wrong).toHaveLength(1)
  expect(verdictOf({ wrong, leftOut: [] }).exitCode).toBe(1)
})

test('a run that left something out never says that everything held', () => {
  const { word, exitCode } = verdictOf({ wrong: [], leftOut: ['the broker: Mosquitto is not installed'] })
  expect(word).toBe('not whole, left out: the broker: Mosquitto is not installed')
  expect(exitCode).toBe(2)
})

test('a fault that finds nothing to befall has failed', async () => {
  const nothing = { nodes: [{ signal: () => false }], broker: null, relays: { link: null } }
  const at = { afterMs: 0, forMs: 0, node: 0, onTop: false }
  for (const fault of ['cut the connections of the broker', 'restart the broker', 'kill the broker'] as const) {
    expect((await inflict(nothing as never, { ...at, fault })).failure, fault).toContain('no broker')
  }
})
