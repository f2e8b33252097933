/**
 * `npm run bench [-- NAME…] [--runs N]`: measures, prints a table and the same as JSON, and writes both to `bench/RESULTS.md`, where
 * names that were not asked for keep their last figures.
 */
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, type Figures, type Measurement, summarize, table } from './figures.ts'
import { measurements } from './measurements.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string' }, entities: { type: 'string' }, 'no-page': { type: 'boolean', default: false } },
})
const page = path.join(import.meta.dirname, 'RESULTS.md')
const all = measurements(values.entities === undefined ? undefined : Number(values.entities))
for (const name of positionals) if (!all.some(each => each.name === name)) throw new Error(`${name} is not measured`)
const chosen = positionals.length === 0 ? all : all.filter(({ name }) => positionals.includes(name))

const figures: Figure[] = []
for (const measurement of chosen) figures.push(...summarize(measurement, await runAll(measurement)))
process.stdout.write(`${table(figures)}\n${JSON.stringify(figures)}\n`)
if (!values['no-page']) await writePage()

async function runAll(measurement: Measurement): Promise<Figures[]> {
  const runs: Figures[] = []
  const count = Number(values.runs ?? measurement.runs ?? 3)
  for (let run = 1; run <= count; run += 1) {
    runs.push(await measurement.run())
    process.stderr.write(`${measurement.name} ${run}/${count} ${JSON.stringify(runs.at(-1))}\n`)
  }
  return runs
}

interface Kept {
  readonly figures: readonly Figure[]
  readonly where: string
}

async function writePage(): Promise<void> {
  const kept = new Map<string, Kept>(Object.entries(await readKept()))
  const where = `${execFileSync('git', ['rev-parse', '--short', 'HEAD']).toString().trim()}, ${new Date().toISOString().slice(0, 16)}Z, load ${loadavg()[0]!.toFixed(1)}`
  for (const { name } of chosen) {
    kept.set(name, { where, figures: figures.filter(each => each.measurement === name) })
  }
  const parts = all.flatMap(({ name, about }) => {
    const last = kept.get(name)
    return last ? [`## ${name}\n\n${about} (${last.where})\n\n${table(last.figures)}\n`] : []
  })
  const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`
  await writeFile(
    page,
    `# Results\n\nWritten by \`npm run bench\`; each figure is the median of its runs with its spread. Behind each name: commit, time, and the\nmachine's load average at the end, which tells how much else was running.\n\n${machine}, the embedded PostgreSQL, \`synchronous_commit=on\`.\n\n${parts.join('\n')}\n<!-- ${JSON.stringify(Object.fromEntries(kept))} -->\n`,
  )
}

async function readKept(): Promise<Record<string, Kept>> {
  const text = await readFile(page, 'utf8').catch(() => '')
  const [, json] = /<!-- (.*) -->/.exec(text) ?? []
  return json === undefined ? {} : JSON.parse(json)
}
