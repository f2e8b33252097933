import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { measurements } from '../../bench/measurements.ts'
import { requireDurable } from '../../bench/postgres.ts'
import { pageOf, type Results, reasonNotToKeep } from '../../bench/results-page.ts'
import { testDatabase } from '../database.ts'

const bench = path.resolve(import.meta.dirname, '../../bench')
const whole = { runs: 3, entities: undefined, isWithoutPage: false }
const kept: Results = { machine: 'two cores, Node 24', results: {} }

test('only figures of enough runs, of the full size, and of the machine of the others are kept', () => {
  expect(reasonNotToKeep(whole, 'two cores, Node 24', kept)).toBeUndefined()
  expect(reasonNotToKeep(whole, 'two cores, Node 24', undefined)).toBeUndefined()
  expect(reasonNotToKeep({ ...whole, runs: 2 }, kept.machine, kept)).toContain('at least 3 runs')
  expect(reasonNotToKeep({ ...whole, entities: 1_000_000 }, kept.machine, kept)).toContain('full size')
  expect(reasonNotToKeep({ ...whole, isWithoutPage: true }, kept.machine, kept)).toContain('asked for')
  expect(reasonNotToKeep(whole, 'two cores, Node 25', kept)).toContain('other versions (two cores, Node 24)')
})

test('the page is what is kept, measurement by measurement, each with its commit and its date', async () => {
  const results = JSON.parse(await readFile(path.join(bench, 'results.json'), 'utf8')) as Results
  const page = await readFile(path.join(bench, 'RESULTS.md'), 'utf8')
  expect(pageOf(results, measurements())).toBe(page)
  for (const [name, { commit, at, figures }] of Object.entries(results.results)) {
    expect(page, name).toContain(`Commit ${commit}, ${at}`)
    expect(figures.length, name).toBeGreaterThan(0)
  }
})

const { url } = await testDatabase({ max: 1 })

test('a server on which a commit may be lost is not measured', async () => {
  await expect(requireDurable(`${url}?options=-c%20synchronous_commit%3Doff`)).rejects.toThrow('synchronous_commit=off')
})
