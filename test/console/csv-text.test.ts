import fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvText } from '../../src/console/parts/csv-text.ts'
import { line } from '../../src/north/csv.ts'

const cell = fc.oneof(
  fc.constantFrom('=1+1', '-3', '+1.5e7', '@x', 'a;b', '"', 'two\nlines', '\tx', '', null),
  fc.string(),
)

test('what the console writes as CSV by itself is what the service would write', () => {
  const rows = fc.array(fc.array(cell, { maxLength: 4 }), { maxLength: 4 })
  fc.assert(
    fc.property(rows, given => {
      expect(csvText(['name', 'value'], given)).toBe(line(['name', 'value']) + given.map(line).join(''))
    }),
  )
})
