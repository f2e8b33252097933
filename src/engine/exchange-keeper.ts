/**
 * Sees that what connectors hold open for operations that are over no longer takes the room of others: after a cancel, a stop, or an
 * answer that came another way. Refuses to end an operation, and to close anything itself.
 */
import type { Database } from '../store/database.ts'
import { keyText, readOpenOperations } from '../store/operations.ts'
import type { Connector, HeldExchange } from './connector.ts'

/** An exchange younger than that is not asked after: most end by themselves. */
const HELD_FOR_MS = 1_000
const CHUNK = 500

/** One turn: tells each connector which of its exchanges are for launches that are over. Knows no next work: exchanges come of themselves. */
export function createExchangeKeeping(
  database: Database,
  connectors: readonly Connector[],
): (now: Date, signal: AbortSignal) => Promise<null> {
  return async (_now, signal) => {
    for (const connector of connectors) {
      const held = connector.held?.(HELD_FOR_MS) ?? []
      for (let i = 0; i < held.length && !signal.aborted; i += CHUNK) {
        const over = await launchesOver(database, held.slice(i, i + CHUNK))
        if (over.length > 0) connector.release?.(over)
      }
    }
    return null
  }
}

/** Those whose operation has ended, waits for its next attempt, or was launched anew. */
async function launchesOver(database: Database, held: readonly HeldExchange[]): Promise<HeldExchange[]> {
  const keys = held.map(({ key }) => key)
  const rows = await database.transaction(tx => readOpenOperations(tx, keys), { byKey: true })
  const launchedAts = new Map(
    rows.filter(({ status }) => status !== 'PENDING').map(row => [keyText(row), row.launchedAt?.getTime()]),
  )
  return held.filter(({ key, launchedAt }) => launchedAts.get(keyText(key)) !== launchedAt)
}
