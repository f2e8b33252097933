import { expect, test } from 'vitest'
import {
  KEPT_CHARACTERS_MAX,
  KEPT_MESSAGE_CHARACTERS_MAX,
  KEPT_MESSAGES_MAX,
  type KeptMessage,
  keepMessage,
} from '../../src/domain/kept-message.ts'

const message = (raw: string): KeptMessage => ({ at: '2026-03-02T10:00:00.000Z', attempt: 1, raw })
const keepAll = (raws: readonly string[]) =>
  raws.reduce<KeptMessage[]>((kept, raw) => keepMessage(kept, message(raw)), []).map(({ raw }) => raw)

test('a message is kept as it came', () => {
  expect(keepMessage(null, message('first'))).toEqual([message('first')])
})

test('of more messages than are kept the oldest go', () => {
  const raws = Array.from({ length: KEPT_MESSAGES_MAX + 2 }, (_, i) => `message ${i}`)
  expect(keepAll(raws)).toEqual(raws.slice(2))
})

test('a long message is cut between two characters', () => {
  const [kept] = keepAll([`${'x'.repeat(KEPT_MESSAGE_CHARACTERS_MAX - 1)}😀 and more`])
  expect(kept).toBe('x'.repeat(KEPT_MESSAGE_CHARACTERS_MAX - 1))
})

test('of longer messages than are kept of one operation the oldest go, and the last word stays', () => {
  const long = ['a', 'b', 'c', 'd', 'e', 'f'].map(letter => letter.repeat(KEPT_MESSAGE_CHARACTERS_MAX))
  expect(keepAll(['short', ...long])).toEqual(long.slice(2))
  expect(keepAll([...long, 'last']).join('').length).toBeLessThanOrEqual(KEPT_CHARACTERS_MAX)
  expect(keepAll([...long, 'last']).at(-1)).toBe('last')
})
