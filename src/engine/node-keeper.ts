/**
 * Keeps this process known as living, and knows which others live. A node that is silent for a few seconds is dead: its sends are
 * given back and its connections forgotten. Refuses to hand work over; whoever comes first takes it.
 */
import type { Database } from '../store/database.ts'
import { buryNodes, livingNodes, recordHeartbeat, removeNode } from '../store/nodes.ts'
import { forgetConnectionsOfOthers } from '../store/presence.ts'

/** How often a node says that it lives, and after how long a silence it counts as dead. */
export const HEARTBEAT_MS = 1_000
export const DEAD_AFTER_MS = 4_000
const BURIED_AFTER_MS = 3_600_000

export interface NodeKeeping {
  readonly turn: (now: Date) => Promise<Date>
  /** the nodes living at the last heartbeat, this one among them */
  readonly living: () => ReadonlySet<number>
  /** leaves in order */
  readonly leave: () => Promise<void>
}

export function createNodeKeeping(
  database: Database,
  self: { readonly node: number; readonly name: string; readonly roles: readonly string[] },
): NodeKeeping {
  let living: ReadonlySet<number> = new Set([self.node])
  return {
    living: () => living,
    async turn(now) {
      await recordHeartbeat(database, self, now)
      const alive = new Set(await livingNodes(database, new Date(now.getTime() - DEAD_AFTER_MS)))
      const changed = alive.size !== living.size || [...alive].some(node => !living.has(node))
      living = alive.add(self.node)
      if (changed) {
        await forgetConnectionsOfOthers(database, [...living])
        await buryNodes(database, new Date(now.getTime() - BURIED_AFTER_MS))
      }
      return new Date(now.getTime() + HEARTBEAT_MS)
    },
    leave: () => removeNode(database, self.node),
  }
}
