import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RefusedIds } from '../../src/domain/job.ts'
import { addRefusals, REFUSED_IDS_MAX, withdrawRefusals } from '../../src/domain/target.ts'

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

test('an id that is refused again stands in its kind once', () => {
  const first = addRefusals({}, { notProvisioned: refused(['a', 'b']), duplicated: refused(['x', 'x']) })
  expect(addRefusals(first, { notProvisioned: refused(['b', 'c']), notAllowed: refused(['a']) })).toEqual({
    notProvisioned: ['a', 'b', 'c'],
    notAllowed: ['a'],
    duplicated: ['x'],
  })
})

test('what is judged anew or taken out is kept out no more, and a kind that is left empty goes', () => {
  const report = { notProvisioned: ['a', 'b'], notAllowed: ['c'], duplicated: ['a', 'c'] }
  expect(withdrawRefusals(report, new Set(['a', 'c', 'unheard-of']))).toEqual({
    notProvisioned: ['b'],
    duplicated: ['a', 'c'],
  })
})

test('what is withdrawn of a list that is cut is taken from its count', () => {
  const report = addRefusals({}, { notAllowed: refused(ids(1_000), 1_001) })
  expect(withdrawRefusals(report, new Set(['d0', 'd1'])).notAllowed).toEqual({ count: 999, first: ids(1_000).slice(2) })
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
