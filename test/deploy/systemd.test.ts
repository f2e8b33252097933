import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { unknownVariables } from '../../src/config/config.ts'

const folder = path.resolve(import.meta.dirname, '../../deploy/systemd')
const isThere = spawnSync('systemd-analyze', ['--version']).status === 0

test.runIf(isThere)('the unit is one that systemd takes without a word', async () => {
  const unit = await readFile(path.join(folder, 'drover.service'), 'utf8')
  const place = await mkdtemp(path.join(tmpdir(), 'drover-unit-'))
  // Nothing is installed here: any program that is there stands for ours.
  const file = path.join(place, 'drover.service')
  await writeFile(file, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`))
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
  await rm(place, { recursive: true })
  expect([status, stdout, stderr]).toEqual([0, '', ''])
})

test('the variables beside it are known', async () => {
  const text = await readFile(path.join(folder, 'drover.env'), 'utf8')
  const named = [...text.matchAll(/^#? ?((?:DROVER|DATABASE)_\w+)=/gm)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(2)
  expect(unknownVariables(Object.fromEntries(named.map(name => [name, '']))).length).toBe(0)
})
