/**
 * `npm run chaos [-- --seed N --faults N --operations N --devices N --broker mosquitto|embedded]`: one run, told as it goes. Ends with 0
 * when everything held, with 1 when something did not. The seed that is printed replays the schedule.
 */
import { parseArgs } from 'node:util'
import { runChaos } from './run.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    faults: { type: 'string', default: '35' },
    operations: { type: 'string', default: '50000' },
    devices: { type: 'string', default: '1200' },
    nodes: { type: 'string', default: '3' },
    broker: { type: 'string' },
  },
})
const tell = (line: string) => void process.stdout.write(`${line}\n`)
const { broker } = values
if (broker !== undefined && broker !== 'mosquitto' && broker !== 'embedded') throw new Error(`no broker ${broker}`)
const result = await runChaos({
  seed: values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed),
  faults: Number(values.faults),
  operations: Number(values.operations),
  devices: Number(values.devices),
  nodes: Number(values.nodes),
  ...(broker !== undefined && { broker }),
  tell,
})
tell(JSON.stringify(result.figures, null, 2))
for (const each of result.wrong.slice(0, 100)) tell(`WRONG ${each}`)
tell(result.wrong.length === 0 ? 'everything held' : `${result.wrong.length} things did not hold`)
process.exit(result.wrong.length === 0 ? 0 : 1)
