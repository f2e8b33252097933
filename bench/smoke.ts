/**
 * `npm run bench:smoke`: whether a change has made the product twice as slow. What is compared is processor time, which a busy machine
 * stretches less than the clock, and always as a multiple of what the same machine needs for the bare row changes in the same run. Ends
 * with 1 where a multiple is past its bound, which half the speed is well past.
 */
import { devices } from './devices.ts'
import { type Figures, type Measurement, median, openSession, shown } from './figures.ts'
import { lifecycle } from './lifecycle.ts'

const RUNS = 3
const OPERATIONS = 10_000
const DEVICES = 1_000
const PACE = 2_000

/** Multiples of the limit's processor time per operation: what they were when they were set, and so much they may be. */
const USUAL = { engine: 4, mqtt: 11 }
const WORSE = 1.6

const cost = (figures: Figures, names: readonly string[]) => names.reduce((sum, name) => sum + figures[name]!, 0)

const engine: number[] = []
const mqtt: number[] = []
for (let run = 0; run < RUNS; run += 1) {
  const lives = await once(lifecycle(OPERATIONS))
  const limit = lives['limit, database CPU ms per operation']!
  engine.push(cost(lives, ['engine, CPU ms per operation', 'database, CPU ms per operation']) / limit)
  const told = await once(devices('smoke', 'mqtt', PACE, DEVICES))
  mqtt.push(cost(told, ['service, CPU ms per operation', 'database, CPU ms per operation']) / limit)
}
async function once(measurement: Measurement): Promise<Figures> {
  const session = await openSession(measurement)
  try {
    return await session.run()
  } finally {
    await session.close()
  }
}

let slow = 0
for (const [name, values] of Object.entries({ engine, mqtt }) as [keyof typeof USUAL, number[]][]) {
  const bound = USUAL[name] * WORSE
  const is = median(values)
  if (is > bound) slow += 1
  process.stdout.write(
    `${name}: ${shown(is)} times the limit's processor time (${values.map(shown).join(', ')}), at most ${shown(bound)}: ${is > bound ? 'too slow' : 'good'}\n`,
  )
}
process.exitCode = slow === 0 ? 0 : 1
