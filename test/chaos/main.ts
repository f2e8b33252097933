/**
 * `npm run chaos [-- --seed N --faults N --operations N --devices N --broker mosquitto|embedded]`: one run, told as it goes. Ends with 0
 * when everything held, with 1 when something did not. The seed that is printed replays the schedule.
 *
 * `npm run chaos -- day [--minutes N]` holds memory, tables and answers to staying flat under load; `npm run chaos -- disk` fills the
 * disk of the database.
 */
import { parseArgs } from 'node:util'
import { runDay } from './day.ts'
import { runDiskFull } from './disk.ts'
import { runChaos } from './run.ts'
import { closeWorlds } from './world.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    faults: { type: 'string', default: '35' },
    operations: { type: 'string', default: '50000' },
    devices: { type: 'string', default: '1200' },
    nodes: { type: 'string', default: '3' },
    broker: { type: 'string' },
    minutes: { type: 'string', default: '15' },
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

async function faults(): Promise<readonly string[]> {
  const { broker } = values
  if (broker !== undefined && broker !== 'mosquitto' && broker !== 'embedded') throw new Error(`no broker ${broker}`)
  const { wrong, figures } = await runChaos({
    seed: values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed),
    faults: Number(values.faults),
    operations: Number(values.operations),
    devices: Number(values.devices),
    nodes: Number(values.nodes),
    ...(broker !== undefined && { broker }),
    tell,
  })
  tell(JSON.stringify(figures, null, 2))
  return wrong
}

const [what = 'faults'] = positionals
const runs: Readonly<Record<string, () => Promise<readonly string[] | null>>> = {
  faults,
  day: () => runDay({ minutes: Number(values.minutes), devices: Number(values.devices), tell }),
  disk: () => runDiskFull({ megabytes: 500, devices: 400, tell }),
}
const run = runs[what]
if (!run) throw new Error(`no run is called ${what}: ${Object.keys(runs).join(', ')}`)
const wrong = await run().catch(async (error: unknown) => {
  await closing
  throw error
})
for (const each of wrong?.slice(0, 100) ?? []) tell(`WRONG ${each}`)
tell(wrong?.length ? `${wrong.length} things did not hold` : 'everything held')
process.exit(wrong?.length ? 1 : 0)
