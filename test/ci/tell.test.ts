/** What `.ci/run` tells of a run of tests at its end, from the report of a real one. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')

async function folder(): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'drover-tell-'))
  onTestFinished(() => rm(made, { recursive: true, force: true }))
  return made
}

function tell(report: string, failedSteps: number, cwd: string) {
  const args = [path.join(root, '.ci/tell.js'), report, String(failedSteps)]
  const { status, stdout } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
  return { status, lines: stdout.trim().split('\n') }
}

/** Runs tests in a folder of their own; answers their report. */
async function reportOf(at: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(at, name), text)
  const report = path.join(at, 'report.json')
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs')
  const args = ['run', '--root', at, '--globals', '--reporter=json', `--outputFile.json=${report}`]
  spawnSync(process.execPath, [vitest, ...args], { cwd: at, encoding: 'utf8' })
  return report
}

test('what was left out is told by its files, and the last line counts what passed and failed', async () => {
  const at = await folder()
  const report = await reportOf(at, {
    'a.test.js': "test('runs', () => {}); test.skipIf(true)('left out', () => {})",
    'b.test.js': "describe.runIf(false)('of a tool', () => { test('one', () => {}); test('two', () => {}) })",
  })
  expect(tell(report, 0, at)).toEqual({
    status: 0,
    lines: ['left out: 3 (a.test.js 1, b.test.js 2)', '1 passed, 0 failed'],
  })
  expect(tell(report, 1, at)).toMatchObject({ status: 1, lines: [expect.anything(), '1 passed, 1 failed'] })
})

test('a test that fails, a file that cannot be read and a run without a report are failures', async () => {
  const at = await folder()
  const report = await reportOf(at, {
    'a.test.js': "test('runs', () => {}); test('fails', () => { throw new Error('no') })",
    'b.test.js': 'this is no program',
  })
  expect(tell(report, 0, at)).toEqual({ status: 1, lines: ['left out: nothing', '1 passed, 2 failed'] })
  expect(tell(path.join(at, 'nowhere.json'), 0, at)).toEqual({ status: 1, lines: ['0 passed, 1 failed'] })
})

test('a chaos run that finds nothing to be tried is told as left out, and does not pass', async () => {
  const report = path.join(await folder(), 'report.json')
  const args = ['run', 'test/chaos/disk.test.ts', '--reporter=json', `--outputFile.json=${report}`]
  // Nothing can be mounted where no program is found.
  const env = { ...process.env, PATH: '' }
  spawnSync(process.execPath, [path.join(root, 'node_modules/vitest/vitest.mjs'), ...args], { cwd: root, env })
  expect(tell(report, 0, root).lines).toEqual(['left out: 1 (test/chaos/disk.test.ts 1)', '0 passed, 1 failed'])
}, 180_000)
