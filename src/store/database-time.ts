/**
 * The database's clock as this process knows it, so that all nodes agree on the time whatever their machines say. It gives the
 * instant; who may sleep on it is the engine's business.
 */
import type { Database } from './database.ts'
import { statement } from './statement.ts'

export interface DatabaseTime {
  /** The present instant of the database in epoch milliseconds, as of the last measurement. May step by a measurement's error. */
  nowMs(): number
  /**
   * Asks the database for its time again and answers by how many milliseconds the estimate was moved: by no more than the answer
   * proves, so that a slow one moves nothing. Fails with the database.
   */
  measure(): Promise<number>
}

const readTime = statement<{ at: Date }, []>('database-time', 'select clock_timestamp() as at')

/** A first answer that took longer than this says little about the moment at which it was given, so it is asked for again. */
const goodRoundTripMs = 50
const tries = 3

/** What one answer proves: the offset lies between these, milliseconds. */
interface Bounds {
  readonly leastMs: number
  readonly mostMs: number
}

/** Measures for the first time and answers the clock. `monotonicMs` counts on evenly, whatever is done to the machine's clock. */
export async function measureDatabaseTime(
  database: Pick<Database, 'run'>,
  monotonicMs: () => number = () => performance.now(),
): Promise<DatabaseTime> {
  async function ask(): Promise<Bounds> {
    const askedMs = monotonicMs()
    const [row] = await database.run(readTime, [])
    const answeredMs = monotonicMs()
    if (!row) throw new Error('the database did not tell its time')
    return { leastMs: row.at.getTime() - answeredMs, mostMs: row.at.getTime() - askedMs }
  }

  const widthMs = ({ leastMs, mostMs }: Bounds) => mostMs - leastMs
  let best = await ask()
  for (let tried = 1; tried < tries && widthMs(best) > goodRoundTripMs; tried += 1) {
    const next = await ask()
    if (widthMs(next) < widthMs(best)) best = next
  }
  let offsetMs = (best.leastMs + best.mostMs) / 2

  return {
    nowMs: () => monotonicMs() + offsetMs,
    async measure() {
      const { leastMs, mostMs } = await ask()
      const before = offsetMs
      offsetMs = Math.min(mostMs, Math.max(leastMs, offsetMs))
      return offsetMs - before
    },
  }
}
