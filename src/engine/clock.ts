/**
 * Time as an argument: the one source of "now" for everything that moves. Outside tests it is the database's clock, so that all
 * nodes agree; nothing else in the engine asks the machine for the time.
 */
import type { Database } from '../store/database.ts'
import { measureDatabaseTime } from '../store/database-time.ts'

export interface Clock {
  /** The present instant. Never earlier than one it gave before. */
  now(): Date
  /** Resolves when the instant is reached, or early when the signal aborts; it never fails. */
  sleepUntil(at: Date, signal: AbortSignal): Promise<void>
}

/** The clock may be corrected meanwhile, so a long sleep looks at it again this often. */
const longestSleepMs = 10_000

/** The sleep of Node makes an error at every early end, and loops are woken hundreds of times a second. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}

/** How fast a clock goes on that waits for its source to catch up: it never goes back, and it never stands. */
const waitingPace = 0.5

/**
 * A clock over a source of the present instant in epoch milliseconds: `Date.now`, or the database's time. Where the source steps back, it
 * goes on at half the pace until the source has caught up.
 */
export function createClock(nowMs: () => number): Clock {
  let sourceMs = Number.NEGATIVE_INFINITY
  let latestMs = Number.NEGATIVE_INFINITY
  const presentMs = () => {
    const readMs = nowMs()
    if (readMs >= latestMs) latestMs = readMs
    else latestMs += Math.max(0, readMs - sourceMs) * waitingPace
    sourceMs = readMs
    return latestMs
  }
  return {
    now: () => new Date(presentMs()),
    async sleepUntil(at, signal) {
      for (
        let restMs = at.getTime() - presentMs();
        restMs > 0 && !signal.aborted;
        restMs = at.getTime() - presentMs()
      ) {
        await sleep(Math.min(Math.ceil(restMs), longestSleepMs), signal)
      }
    },
  }
}

/** The database's clock; `measure` asks it anew, which every heartbeat does, and answers by how many milliseconds the estimate was moved. */
export interface DatabaseClock extends Clock {
  measure(): Promise<number>
}

/**
 * The clock of a service: the database's time, never running backwards, carried on between measurements by `monotonicMs`, the
 * machine's own. Fails when the database cannot be asked at first.
 */
export async function databaseClock(
  database: Pick<Database, 'run'>,
  monotonicMs?: () => number,
): Promise<DatabaseClock> {
  const time = await measureDatabaseTime(database, monotonicMs)
  return { ...createClock(time.nowMs), measure: time.measure }
}
