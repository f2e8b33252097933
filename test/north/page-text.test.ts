import { expect, test } from 'vitest'
import { createPageText } from '../../src/north/page-text.ts'

const long = 'x'.repeat(40 * 1_048_576)

test('a page that is too long is refused by what its length was asked with', () => {
  const page = createPageText('size')
  page.add([long])
  expect(() => page.add([long])).toThrow(expect.objectContaining({ context: [{ name: 'size' }] }))
})

test('a page of one row is served, however long the row is', () => {
  const page = createPageText('size')
  page.add([[long, long]])
  expect(page.rows.length).toBe(1)
})
