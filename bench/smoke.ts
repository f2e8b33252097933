/**
 * `npm run bench:smoke`: whether a change has made the product twice as slow. What is compared is processor time, which a busy machine
 * stretches far less than the clock, and always as a multiple of what the same machine needs for the bare row changes in the same run.
 * Time that is spent waiting is not seen. Others on the machine can only add to a multiple: one run within the bounds is enough, and
 * it ends with 1 where several, one after the other, are all past one of them, as half the speed is.
 */
import { devices } from './devices.ts'
import { type Figures, type Measurement, openSession, shown } from './figures.ts'
import { lifecycle } from './lifecycle.ts'

const RUNS_MAX = 4
const OPERATIONS = 10_000
const DEVICES = 1_000
const PACE = 2_000

/** Multiples of the limit's processor time per operation: what they were when they were set (2026-11-22, at adb91f7), and so much they may be. */
const USUAL = { 'engine, service': 2.1, 'engine, database': 2.1, 'mqtt, service': 4.3, 'mqtt, database': 2.1 }
const WORSE = 1.6
const NAMES = Object.keys(USUAL) as (keyof typeof USUAL)[]

async function once(measurement: Measurement): Promise<Figures> {
  const session = await openSession(measurement)
  try {
    return await session.run()
  } finally {
    await session.close()
  }
}

async function measure(): Promise<Record<keyof typeof USUAL, number>> {
  const lives = await once(lifecycle(OPERATIONS))
  const told = await once(devices('smoke', 'mqtt', PACE, DEVICES, async () => undefined))
  const limit = lives['limit, database CPU ms per operation']!
  return {
    'engine, service': lives['engine, CPU ms per operation']! / limit,
    'engine, database': lives['database, CPU ms per operation']! / limit,
    'mqtt, service': told['service, CPU ms per operation']! / limit,
    'mqtt, database': told['database, CPU ms per operation']! / limit,
  }
}

const slow = new Set(NAMES)
for (let run = 1; run <= RUNS_MAX && slow.size > 0; run += 1) {
  const multiples = await measure()
  for (const name of NAMES) {
    const bound = USUAL[name] * WORSE
    const good = multiples[name] <= bound
    if (good) slow.delete(name)
    process.stdout.write(
      `${name}: ${shown(multiples[name])} times the limit's processor time, at most ${shown(bound)}: ${good ? 'good' : `too slow in run ${run} of ${RUNS_MAX}`}\n`,
    )
  }
}
process.exitCode = slow.size === 0 ? 0 : 1
