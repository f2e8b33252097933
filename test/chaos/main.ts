/**
 * `npm run chaos [-- --seed N --faults N --operations N --devices N --pace N --broker mosquitto|embedded] [--keep]`: one run, told as
 * it goes; `--pace 0.2` leaves a fifth of the pauses between faults. Ends with 0 when everything held, with 1 when something did not or less was done than asked for, with 2 when something was left out here. The seed
 * that is printed replays the schedule.
 *
 * `npm run chaos -- day [--minutes N]` holds memory, tables and answers to staying flat under load; `npm run chaos -- disk` fills the
 * disk of the database. `--keep` adds what a run came to to the page of runs.
 */
import { parseArgs } from 'node:util'
import { runDay } from './day.ts'
import { runDiskFull } from './disk.ts'
import { keepRun } from './page.ts'
import { runChaos } from './run.ts'
import { type RunEnd, verdictOf } from './verdict.ts'
import { closeWorlds } from './world.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    faults: { type: 'string', default: '35' },
    operations: { type: 'string', default: '50000' },
    devices: { type: 'string', default: '1200' },
    nodes: { type: 'string', default: '3' },
    pace: { type: 'string', default: '1' },
    broker: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    keep: { type: 'boolean', default: false },
  },
})
// Nothing is left behind where it is interrupted; what then fails on the way is no news.
let closing: Promise<void> | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    process.on('unhandledRejection', () => {})
    closing ??= closeWorlds().finally(() => process.exit(130))
  })
}
const tell = (line: string) => void process.stdout.write(`${line}\n`)

async function faults(): Promise<RunEnd> {
  const { broker } = values
  if (broker !== undefined && broker !== 'mosquitto' && broker !== 'embedded') throw new Error(`no broker ${broker}`)
  return await runChaos({
    seed: values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed),
    faults: Number(values.faults),
    operations: Number(values.operations),
    devices: Number(values.devices),
    nodes: Number(values.nodes),
    pace: Number(values.pace),
    ...(broker !== undefined && { broker }),
    tell,
  })
}

const [what = 'faults'] = positionals
const runs: Readonly<Record<string, () => Promise<RunEnd>>> = {
  faults,
  day: () => runDay({ minutes: Number(values.minutes), devices: Number(values.devices), tell }),
  disk: () => runDiskFull({ megabytes: 500, devices: 400, tell }),
}
const run = runs[what]
if (!run) throw new Error(`no run is called ${what}: ${Object.keys(runs).join(', ')}`)
const ended = await run().catch(async (error: unknown) => {
  await closing
  throw error
})
tell(JSON.stringify(ended.figures, null, 2))
if (values.keep) await keepRun({ what, end: ended })
for (const each of ended.wrong.slice(0, 100)) tell(`WRONG ${each}`)
const { word, exitCode } = verdictOf(ended)
tell(word)
process.exit(exitCode)
