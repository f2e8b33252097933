/**
 * The database's clock as this process knows it, so that all nodes agree on the time whatever their machines say. It gives the
 * instant; who may sleep on it is the engine's business.
 */
import type { Database } from './database.ts'
import { statement } from './statement.ts'

export interface DatabaseTime {
  /** The present instant of the database in epoch milliseconds, as of the last measurement. May step by a measurement's error. */
  nowMs(): number
  /** Asks the database for its time again and answers by how many milliseconds the estimate was moved. Fails with the database. */
  measure(): Promise<number>
}

const readTime = statement<{ at: Date }, []>('database-time', 'select clock_timestamp() as at')

/** An answer that took longer than this says little about the moment at which it was given, so it is asked for again. */
const goodRoundTripMs = 50
const tries = 3

/** Measures for the first time and answers the clock. `monotonicMs` counts on evenly, whatever is done to the machine's clock. */
export async function measureDatabaseTime(
  database: Pick<Database, 'run'>,
  monotonicMs: () => number = () => performance.now(),
): Promise<DatabaseTime> {
  let offsetMs: number | null = null

  async function measure(): Promise<number> {
    let best: { roundTripMs: number; offsetMs: number } | null = null
    for (let tried = 0; tried < tries && (best === null || best.roundTripMs > goodRoundTripMs); tried++) {
      const askedMs = monotonicMs()
      const [row] = await database.run(readTime, [])
      const answeredMs = monotonicMs()
      const roundTripMs = answeredMs - askedMs
      if (!row || (best && best.roundTripMs <= roundTripMs)) continue
      best = { roundTripMs, offsetMs: row.at.getTime() - (askedMs + answeredMs) / 2 }
    }
    if (!best) throw new Error('the database did not tell its time')
    const movedMs = best.offsetMs - (offsetMs ?? best.offsetMs)
    offsetMs = best.offsetMs
    return movedMs
  }

  await measure()
  return { nowMs: () => monotonicMs() + (offsetMs ?? 0), measure }
}
