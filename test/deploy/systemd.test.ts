import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { unknownVariables } from '../../src/config/config.ts'

const folder = path.resolve(import.meta.dirname, '../../deploy/systemd')
const isThere = spawnSync('systemd-analyze', ['--version']).status === 0

/** The most that the unit may let a service do, as systemd reckons it in tenths: 100 is everything. */
const EXPOSURE_MAX = 35

/** Asks systemd about the unit. Nothing is installed here: any program that is there stands for ours. */
async function analyzed(...args: string[]) {
  const unit = await readFile(path.join(folder, 'drover.service'), 'utf8')
  const place = await mkdtemp(path.join(tmpdir(), 'drover-unit-'))
  const file = path.join(place, 'drover.service')
  await writeFile(file, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`))
  const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, file], { encoding: 'utf8' })
  await rm(place, { recursive: true })
  return { status, stdout, stderr }
}

test.runIf(isThere)('the unit is one that systemd takes without a word', async () => {
  expect(await analyzed('verify', '--man=no')).toEqual({ status: 0, stdout: '', stderr: '' })
})

test.runIf(isThere)('the unit lets the service do little more than it must', async () => {
  const { status, stdout } = await analyzed('security', '--offline=yes', '--no-pager', `--threshold=${EXPOSURE_MAX}`)
  expect(status, stdout).toBe(0)
  expect(stdout).toContain('Overall exposure level')
})

test('the variables beside it are known', async () => {
  const text = await readFile(path.join(folder, 'drover.env'), 'utf8')
  const named = [...text.matchAll(/^#? ?((?:DROVER|DATABASE)_\w+)=/gm)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(2)
  expect(unknownVariables(Object.fromEntries(named.map(name => [name, '']))).length).toBe(0)
})
