/** The page on how large: what it says is measured is measured, under that name. */
import { expect, test } from 'vitest'
import { measurements } from '../../bench/measurements.ts'
import { codeIn, readPage } from './page.ts'

const page = await readPage('operating/sizing.md')

test('every figure of the page names a measurement that there is', () => {
  const names = new Set(measurements().flatMap(({ name, also = [] }) => [name, ...also]))
  const named = page
    .table('What things take')
    .flatMap(([, , by]) => codeIn(by!))
    .filter(code => /^[a-z]+(-[a-z]+)*$/.test(code))
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter(name => !names.has(name))).toEqual([])
})
