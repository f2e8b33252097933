/** The living processes: one row each, kept fresh by a heartbeat. Refuses to share out anything. */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

const beat = statement<unknown, [number, string, readonly string[], Date, Date]>(
  'nodes_beat',
  `insert into node (node, name, roles, started_at, heartbeat_at) values ($1, $2, $3, $4, $4)
   on conflict (node) do update
      set started_at = case when node.heartbeat_at < $5 then excluded.started_at else node.started_at end,
          heartbeat_at = greatest(node.heartbeat_at, excluded.heartbeat_at)`,
)

/** Records that a node lives. Where it was silent since before `deadSince`, it begins to live anew. */
export async function recordHeartbeat(
  db: Queryable,
  node: { readonly node: number; readonly name: string; readonly roles: readonly string[] },
  now: Date,
  deadSince: Date,
): Promise<void> {
  await db.run(beat, [node.node, node.name, node.roles, now, deadSince])
}

const living = statement<{ node: number; since: Date }, [Date]>(
  'nodes_living',
  'select node, started_at as since from node where heartbeat_at > $1 order by node',
)

/** Nodes heard of since an instant, and since when each has lived without a break. */
export async function livingNodes(
  db: Queryable,
  after: Date,
): Promise<readonly { readonly node: number; readonly since: Date }[]> {
  return await db.run(living, [after])
}

const bury = statement<unknown, [Date]>('nodes_bury', 'delete from node where heartbeat_at < $1')

/** Forgets nodes not heard of since an instant. */
export async function buryNodes(db: Queryable, before: Date): Promise<void> {
  await db.run(bury, [before])
}

const last = statement<{ anyAt: Date | null; ownAt: Date | null }, [number]>(
  'nodes_last',
  'select max(heartbeat_at) as "anyAt", max(heartbeat_at) filter (where node = $1) as "ownAt" from node',
)

/** When any node was last heard of, and when this one was; null where none, or it, never was. */
export async function lastHeartbeats(
  db: Queryable,
  node: number,
): Promise<{ readonly anyAt: Date | null; readonly ownAt: Date | null }> {
  return (await db.run(last, [node]))[0]!
}

const retire = statement<unknown, [number, Date]>(
  'nodes_retire',
  'update node set heartbeat_at = least(heartbeat_at, $2) where node = $1',
)

/** Counts a node that stops in order as silent since an instant. Its row stays, as the trace of when the service last ran. */
export async function retireNode(db: Queryable, node: number, silentSince: Date): Promise<void> {
  await db.run(retire, [node, silentSince])
}

/** Channel on which nodes wake each other: the waking node, what it moved, then devices (hexadecimal) for which something waits. */
export const WAKE_CHANNEL = 'drover_wake'

const notify = statement<unknown, [readonly string[]]>(
  'nodes_notify',
  `select pg_notify('${WAKE_CHANNEL}', payload) from unnest($1::text[]) as p(payload)`,
)

/** Wakes the other nodes, one notification per payload of at most 8,000 bytes. */
export async function notifyNodes(db: Queryable, payloads: readonly string[]): Promise<void> {
  await db.run(notify, [payloads])
}
