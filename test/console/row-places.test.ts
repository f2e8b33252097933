import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PAGE, PART, pagesOf, partsOf, rowsIn } from '../../src/console/parts/row-places.ts'

const ROWS_MAX = 20_000_000

describe('where rows lie', () => {
  test('the parts of a list hold each row once, in order, and none holds more than a browser can scroll over', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: ROWS_MAX }), total => {
        const parts = partsOf(total)
        expect([parts[0]?.first, parts.at(-1)?.end]).toEqual([0, total])
        for (const [index, { first, end }] of parts.entries()) {
          expect(first).toBe(parts[index - 1]?.end ?? 0)
          expect(end - first).toBeGreaterThan(0)
          expect(end - first).toBeLessThanOrEqual(PART)
        }
      }),
    )
    expect(partsOf(0)).toEqual([])
    expect(partsOf(PART)).toHaveLength(1)
    expect(partsOf(PART + 1)[1]).toEqual({ first: PART, end: PART + 1 })
  })

  test('the pages in sight are those of the rows in sight, and as few', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: ROWS_MAX }), fc.integer({ min: 0, max: 1_000 }), (first, more) => {
        const pages = pagesOf(first, first + more)
        for (const row of [first, first + Math.floor(more / 2), first + more]) {
          expect(pages).toContain(Math.floor(row / PAGE))
        }
        expect(pages.length).toBeLessThanOrEqual(Math.ceil((more + 1) / PAGE) + 1)
      }),
    )
  })

  test('the number of rows is exact once the last page has been read, stays so while the pages do, and is a bound before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: ROWS_MAX }), total => {
        const pages = Math.ceil(total / PAGE)
        const before = rowsIn(pages, undefined, null)
        expect(before).toBeGreaterThanOrEqual(total)
        expect(before - total).toBeLessThan(PAGE)
        const exact = rowsIn(pages, total - (pages - 1) * PAGE, before)
        expect(exact).toBe(total)
        expect(rowsIn(pages, undefined, exact)).toBe(total)
        expect(rowsIn(pages + 3, undefined, exact)).toBe((pages + 3) * PAGE)
      }),
    )
  })
})
