/**
 * Which faults a run meets, where and for how long, in which order and how far apart: all of it drawn from the seed, so that the
 * seed alone replays the schedule. It carries nothing out.
 */
import { randomOf } from '../../src/simulator/random.ts'

/** Every fault, how often it is drawn beside the others, for how long it lasts, and what it befalls: no two befall one part at once. */
export const FAULTS = {
  'kill a node': { weight: 4, forMs: [200, 3_000], part: 'node' },
  'stop a node in order': { weight: 2, forMs: [200, 2_000], part: 'node' },
  'freeze a node': { weight: 3, forMs: [1_000, 8_000], part: 'node' },
  'freeze the fleet': { weight: 1, forMs: [500, 3_000], part: 'fleet' },
  'freeze a database session': { weight: 1, forMs: [500, 4_000], part: 'session' },
  'stop the database': { weight: 2, forMs: [300, 4_000], part: 'database' },
  'kill the database': { weight: 2, forMs: [300, 3_000], part: 'database' },
  'terminate every database session': { weight: 3, forMs: [0, 0], part: 'session' },
  'take every database connection': { weight: 2, forMs: [1_000, 4_000], part: 'crowd' },
  'lock the operations so that pools run dry': { weight: 2, forMs: [1_000, 5_000], part: 'crowd' },
  'cut the connections of devices': { weight: 3, forMs: [0, 0], part: 'relays' },
  'cut the connections of the broker': { weight: 2, forMs: [0, 0], part: 'relays' },
  'restart the broker': { weight: 2, forMs: [200, 3_000], part: 'broker' },
  'kill the broker': { weight: 1, forMs: [200, 3_000], part: 'broker' },
} as const

export type FaultName = keyof typeof FAULTS
/** What a fault befalls. */
export type FaultPart = (typeof FAULTS)[FaultName]['part']

/** One fault: so long after the one before has begun to heal, on this node where it is about one, for so long. */
export interface PlannedFault {
  readonly fault: FaultName
  readonly afterMs: number
  readonly forMs: number
  readonly node: number
  /** carried out while the one before still lasts */
  readonly onTop: boolean
}

export interface ScheduleOptions {
  readonly seed: number
  readonly count: number
  readonly nodes: number
  /** faults that cannot be carried out here */
  readonly without?: readonly FaultName[]
  /** the share of the usual pauses that is kept; all of them unless told */
  readonly pace?: number
}

/** Shares of the pauses between faults: most are short, some give the system time to come to rest. */
const PAUSES_MS = [500, 1_500, 2_500, 4_000, 9_000]
const ON_TOP = 0.2

/** Draws a schedule: first every fault once in a drawn order, then by weight. */
export function drawSchedule({ seed, count, nodes, without = [], pace = 1 }: ScheduleOptions): PlannedFault[] {
  const random = randomOf(seed, 'schedule')
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const names = (Object.keys(FAULTS) as FaultName[]).filter(name => !without.includes(name))
  const weighted = names.flatMap(name => Array<FaultName>(FAULTS[name].weight).fill(name))
  const once = names.map(name => ({ name, at: random() })).toSorted((a, b) => a.at - b.at)
  return Array.from({ length: count }, (_, index) => {
    const fault = once[index]?.name ?? pick(weighted)
    const [least, most] = FAULTS[fault].forMs
    return {
      fault,
      afterMs: Math.round(pace * pick(PAUSES_MS)),
      forMs: Math.round(least + (most - least) * random()),
      node: Math.floor(random() * nodes),
      onTop: index > 0 && random() < ON_TOP,
    }
  })
}
