import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutText, shortened, storableText } from '../../src/domain/storable.ts'

test('a NUL and a lone half of a pair are shown as replacement characters', () => {
  expect(storableText('a\u0000b\ud83dc😀')).toBe('a\uFFFDb\uFFFDc😀')
})

test('a text that is short enough stays whole', () => {
  expect(cutText('ab😀', 4)).toBe('ab😀')
})

test('a pair that lies across the cut goes as a whole', () => {
  expect(cutText('ab😀c', 3)).toBe('ab')
  expect(cutText('ab😀c', 4)).toBe('ab😀')
})

test('whatever is cut can be kept, and is no longer than asked', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', '\u0000', '😀', '\ud83d', '\ude00') }),
      fc.nat(20),
      (text, max) => {
        const cut = cutText(text, max)
        expect(cut.length).toBeLessThanOrEqual(max)
        expect(cut.isWellFormed() && !cut.includes('\u0000')).toBe(true)
      },
    ),
  )
})

test('what was shortened says so in its last character, and is no longer than asked', () => {
  expect(shortened('ab😀', 4)).toBe('ab😀')
  expect(shortened('ab😀c', 4)).toBe('ab…')
  expect(shortened('abcdef', 4)).toBe('abc…')
})
