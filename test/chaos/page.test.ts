import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { keepRun } from './page.ts'

test('the page of runs has one head and a row for each run, with its figures and whether everything held', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-page-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'CHAOS.md')
  await keepRun({ what: 'faults', figures: { seed: 4, operations: 51_000, statuses: { 200: 7 } }, wrong: 0 }, file)
  await keepRun({ what: 'day', figures: { heapMb: '90 to 91' }, wrong: 2 }, file)
  const page = await readFile(file, 'utf8')
  expect(page.match(/^# /gm)).toHaveLength(1)
  const rows = page.split('\n').filter(line => /^\| \d{4}-/.test(line))
  expect(rows).toHaveLength(2)
  expect(rows[0]).toMatch(/\| faults \| seed 4, operations 51,000 \| yes \|$/)
  expect(rows[1]).toMatch(/\| day \| heapMb 90 to 91 \| no: 2 \|$/)
})
