import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { keepRun } from './page.ts'

test('the page of runs has one head and a row for each run, with its figures and whether everything held', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-page-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'CHAOS.md')
  const figures = {
    seed: 412_345,
    broker: 'mosquitto',
    nodes: 3,
    faults: '35 of 35',
    operations: 51_000,
    statuses: { 200: 7 },
  }
  await keepRun({ what: 'faults', end: { figures, wrong: [], leftOut: [] } }, file)
  await keepRun({ what: 'day', end: { figures: { heapMb: '90 to 91' }, wrong: ['this', 'that'], leftOut: [] } }, file)
  await keepRun({ what: 'disk', end: { figures: {}, wrong: [], leftOut: ['the disk: no root'] } }, file)
  const page = await readFile(file, 'utf8')
  expect(page.match(/^# /gm)).toHaveLength(1)
  const rows = page.split('\n').filter(line => /^\| \d{4}-/.test(line))
  expect(rows).toHaveLength(3)
  expect(rows[0]).toMatch(
    /\| faults \| seed 412345, broker mosquitto, nodes 3, faults 35 of 35, operations 51,000 \| yes \|$/,
  )
  expect(rows[1]).toMatch(/\| day \| heapMb 90 to 91 \| no: 2 \|$/)
  expect(rows[2]).toMatch(/\| disk \| {2}\| not whole, left out: the disk: no root \|$/)
})
