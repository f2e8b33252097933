/**
 * Keeps this process known as living, and knows which others live. A node that is silent for a few seconds is dead: its sends are
 * given back and its connections forgotten. Where nobody lived for a while, there was an outage. Refuses to hand work over;
 * whoever comes first takes it.
 */
import { partitionsOf } from '../domain/partition-shares.ts'
import type { Database } from '../store/database.ts'
import { buryNodes, lastHeartbeats, livingNodes, recordHeartbeat, retireNode } from '../store/nodes.ts'

/** How often a node says that it lives, and after how long a silence it counts as dead. */
export const HEARTBEAT_MS = 1_000
export const DEAD_AFTER_MS = 5_000
const BURIED_AFTER_MS = 3_600_000

export interface NodeKeepingParts {
  /** best with a connection of its own: where everybody waits for one, a living node must not look dead */
  readonly database: Database
  readonly self: { readonly node: number; readonly name: string; readonly roles: readonly string[] }
  /** nobody lived for a while: done before anybody lives again */
  readonly onOutage: (now: Date) => Promise<void>
  /** at every heartbeat: the machines of the nodes do not agree on the time, nor how fast it passes */
  readonly measureClock: () => Promise<unknown>
  /** at every heartbeat, so that no other process hands out the numbers of this one */
  readonly keepNumbering: () => Promise<void>
  /** this node was silent for so many milliseconds that others may have taken it for dead; told once */
  readonly onSilence: (silentMs: number) => void
  /**
   * It was, and others may have forgotten its connections. No heartbeat waits for this, and what fails is done again after the next.
   */
  readonly onRevival: () => Promise<void>
  /**
   * The living are others than before: who has been silent since an instant may have died with connections in hand. No heartbeat waits for
   * this either, and what fails is done again after the next.
   */
  readonly onDeath: (silentSince: Date) => Promise<void>
  /** another node has come, or has been silent for so long that it counts as dead; told at the first heartbeat, too */
  readonly onChange: (living: ReadonlySet<number>) => void
}

export interface NodeKeeping {
  readonly turn: (now: Date) => Promise<Date>
  /** the nodes living at the last heartbeat, this one among them */
  readonly living: () => ReadonlySet<number>
  /** this node's share of the partitions among the living; shares may overlap for a while when somebody comes or goes */
  readonly partitions: () => readonly number[]
  /**
   * Since when somebody has lived without a break, as far as this node knows; a node that joins others takes their word. While this node
   * is itself silent it knows nothing, and it is `now`.
   */
  readonly livedSince: (now: Date) => Date
  /** whether this node has been heard of recently */
  readonly isLiving: (now: Date) => boolean
  /** leaves in order */
  readonly leave: (now: Date) => Promise<void>
}

export function createNodeKeeping({
  database,
  self,
  onOutage,
  measureClock,
  keepNumbering,
  onSilence,
  onRevival,
  onDeath,
  onChange,
}: NodeKeepingParts): NodeKeeping {
  let living: ReadonlySet<number> = new Set()
  let partitions: readonly number[] = []
  let beatAt: Date | null = null
  let since: Date | null = null
  const isSilentSince = (at: Date | null, now: Date) => at !== null && now.getTime() - at.getTime() > DEAD_AFTER_MS
  const isLiving = (now: Date) => beatAt !== null && !isSilentSince(beatAt, now)

  // Where these took longer than the silence that counts as death, waiting for them would make them needed again.
  const revival = besideHeartbeats(onRevival)
  const farewell = besideHeartbeats(now => onDeath(new Date(now.getTime() - DEAD_AFTER_MS)))

  return {
    living: () => living,
    partitions: () => partitions,
    livedSince: now => (isLiving(now) && since !== null ? since : now),
    isLiving,
    async turn(now) {
      const { anyAt, ownAt } = await lastHeartbeats(database, self.node)
      const deadSince = new Date(now.getTime() - DEAD_AFTER_MS)
      if (anyAt === null || isSilentSince(anyAt, now)) since = now
      else if (isSilentSince(ownAt, now)) since = null
      if (isSilentSince(anyAt, now)) await onOutage(now)
      await recordHeartbeat(database, self, now, deadSince)
      beatAt = now
      if (ownAt !== null && isSilentSince(ownAt, now)) {
        onSilence(now.getTime() - ownAt.getTime())
        revival.ask()
      }
      const found = await livingNodes(database, deadSince)
      for (const each of found) if (since === null || each.since < since) since = each.since
      const alive = new Set(found.map(({ node }) => node))
      const changed = alive.size !== living.size || [...alive].some(node => !living.has(node))
      living = alive.add(self.node)
      if (changed) {
        farewell.ask()
        onChange(living)
        partitions = partitionsOf(self.node, living)
        await buryNodes(database, new Date(now.getTime() - BURIED_AFTER_MS))
      }
      farewell.go(now)
      revival.go(now)
      await measureClock()
      await keepNumbering()
      return new Date(now.getTime() + HEARTBEAT_MS)
    },
    leave: now => retireNode(database, self.node, new Date(now.getTime() - DEAD_AFTER_MS)),
  }
}

/** Work that no heartbeat waits for: once asked for it is done, and where that fails, done again at the next heartbeat. */
function besideHeartbeats(work: (now: Date) => Promise<void>) {
  let isDone = true
  let underWay = false
  return {
    ask() {
      isDone = false
    },
    go(now: Date) {
      if (isDone || underWay) return
      underWay = true
      isDone = true
      work(now)
        .catch(() => {
          isDone = false
        })
        .finally(() => {
          underWay = false
        })
    },
  }
}
