/**
 * Transactions that are one exchange each, on one connection, one behind the other: the next is sent while the server is still at those before,
 * which it goes on from without waiting for us. Refuses to try anything again.
 */
import type pg from 'pg'
import { askAtOnce, gathered, named } from './asking-at-once.ts'
import type { AtOnce } from './database.ts'
import { BY_KEY, planByKey } from './plan-by-key.ts'
import { bounded } from './streaming.ts'

export interface Line {
  /**
   * Asks all that `work` asks as one exchange, planned by key, in a transaction of its own: all of it takes effect, or, where one statement fails,
   * nothing, and it fails with that. What was sent behind one that has failed may fail for that alone, with `25P02`, and has no effect then, either.
   * `work` leaves every answer behind, and answers what it likes itself.
   */
  atOnce<T>(work: (tx: AtOnce) => T): Promise<T>
}

interface Connection {
  readonly client: Promise<pg.PoolClient>
  readonly sinceMs: number
  underWay: number
  hasFailed: boolean
}

const PLANNING = { name: 'plan_by_key', text: planByKey }
/** How long a connection is held at most, where there is always something under way: others may wait for one. */
const HELD_MS = 1_000

/**
 * Holds a connection as long as anything is under way, and then takes its turn for one as everybody. `waitMs`: how long the client itself waits for
 * an exchange, which is several statements and may stand behind another.
 */
export function createLine(connect: () => Promise<pg.PoolClient>, waitMs: number): Line {
  let current: Connection | null = null

  function connection(): Connection {
    if (current && performance.now() - current.sinceMs > HELD_MS) current = null
    current ??= { client: connect(), sinceMs: performance.now(), underWay: 0, hasFailed: false }
    return current
  }

  return {
    async atOnce(work) {
      const [statements, result] = await gathered(work, BY_KEY)
      const mine = connection()
      mine.underWay += 1
      try {
        await askAtOnce(await mine.client, [named('begin'), PLANNING, ...statements, named('commit')], waitMs)
        return result
      } catch (error) {
        mine.hasFailed = true
        throw error
      } finally {
        mine.underWay -= 1
        // Whoever comes now would only be told that something before it failed.
        if (current === mine && (mine.hasFailed || mine.underWay === 0)) current = null
        if (mine.underWay === 0) await letGo(mine)
      }
    },
  }
}

/** What failed has left its transaction open; a connection of which that cannot be mended is not used again. */
async function letGo({ client, hasFailed }: Connection): Promise<void> {
  const connected = await client.catch(() => null)
  if (connected === null) return
  const isMended =
    !hasFailed ||
    (await connected.query(bounded('rollback', 5_000)).then(
      () => true,
      () => false,
    ))
  connected.release(!isMended)
}
