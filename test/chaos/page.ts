/** The page of runs: what was run, when, on which commit, with which figures, and whether everything held. It is added to, never sorted out. */
import { execFileSync } from 'node:child_process'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import path from 'node:path'
import type { RunEnd } from './verdict.ts'

/** One run as it ended. */
export interface KeptRun {
  readonly what: string
  readonly end: RunEnd
}

const HEAD = `# Runs of \`npm run chaos\`

Written by \`npm run chaos -- … --keep\`, the newest last. What a run does is told in [Running](../docs/operating/running.md#what-was-tried).
The load average is that of the last minute, the run's own work included: on two cores, far more than 4 tells of others at work.
Of a day, the two values of a figure are the ends of the line through the middle of its samples, which may lie below all of them where they fall.

| when | commit | cores | load | run | figures | held |
| --- | --- | --- | --- | --- | --- | --- |
`

/** Adds a run to the page, `bench/CHAOS.md` unless told. Fails as writing fails. */
export async function keepRun(run: KeptRun, file = path.resolve(import.meta.dirname, '../../bench/CHAOS.md')) {
  const has = await readFile(file, 'utf8').catch(() => '')
  if (has === '') await writeFile(file, HEAD)
  await appendFile(file, `${rowOf(run)}\n`)
}

function rowOf({ what, end }: KeptRun): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname })
    .toString()
    .trim()
  const told = Object.entries(end.figures).flatMap(([name, value]) =>
    typeof value === 'number'
      ? [`${name} ${name === 'seed' ? value : value.toLocaleString('en')}`]
      : typeof value === 'string'
        ? [`${name} ${value}`]
        : [],
  )
  const at = `${new Date().toISOString().slice(0, 16)}Z`
  const cells = [at, commit, availableParallelism(), loadavg()[0]!.toFixed(1), what, told.join(', ')]
  return `| ${cells.join(' | ')} | ${heldOf(end)} |`
}

function heldOf({ wrong, leftOut }: RunEnd): string {
  if (wrong.length > 0) return `no: ${wrong.length}`
  return leftOut.length === 0 ? 'yes' : `not whole, left out: ${leftOut.join('; ')}`
}
