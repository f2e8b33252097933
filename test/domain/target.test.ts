import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RefusedIds } from '../../src/domain/job.ts'
import { addRefusals, REFUSED_IDS_MAX } from '../../src/domain/target.ts'

const ids = (count: number, prefix = 'd') => Array.from({ length: count }, (_, i) => `${prefix}${i}`)
const refused = (list: readonly string[], count = list.length) => ({ ids: list, count })
const countOf = (kept: RefusedIds | undefined) => (kept === undefined ? 0 : 'first' in kept ? kept.count : kept.length)

test('kinds without any refusal are left out', () => {
  expect(addRefusals({}, { notProvisioned: refused([]), notAllowed: refused(['a']) })).toEqual({ notAllowed: ['a'] })
})

test('refusals of later batches are added behind those of earlier ones', () => {
  const first = addRefusals({}, { notProvisioned: refused(['a']), duplicated: refused(['x']) })
  expect(addRefusals(first, { notProvisioned: refused(['b', 'c']) })).toEqual({
    notProvisioned: ['a', 'b', 'c'],
    duplicated: ['x'],
  })
})

test('beyond 1,000 ids the first 1,000 are listed, and their count', () => {
  expect(addRefusals({}, { notAllowed: refused(ids(REFUSED_IDS_MAX)) }).notAllowed).toEqual(ids(REFUSED_IDS_MAX))
  expect(addRefusals({}, { notAllowed: refused(ids(REFUSED_IDS_MAX + 1)) }).notAllowed).toEqual({
    count: REFUSED_IDS_MAX + 1,
    first: ids(REFUSED_IDS_MAX),
  })
})

test('a count larger than its list is kept', () => {
  const report = addRefusals({}, { notAllowed: refused(ids(1_000), 250_000) })
  expect(addRefusals(report, { notAllowed: refused(['one more']) }).notAllowed).toEqual({
    count: 250_001,
    first: ids(1_000),
  })
})

test('nothing refused is ever lost from the count, and never more than the limit is listed', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 700 }), { maxLength: 6 }), batches => {
      const report = batches.reduce(
        (soFar, size, i) => addRefusals(soFar, { notProvisioned: refused(ids(size, `b${i}-`)) }),
        {} as Parameters<typeof addRefusals>[0],
      )
      const total = batches.reduce((a, b) => a + b, 0)
      const kept = report.notProvisioned
      expect(countOf(kept)).toBe(total)
      const listed = kept === undefined ? [] : 'first' in kept ? kept.first : kept
      expect(listed.length).toBe(Math.min(total, REFUSED_IDS_MAX))
    }),
    { numRuns: 50 },
  )
})
