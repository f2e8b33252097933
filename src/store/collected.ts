/**
 * The latest collected values of entities: a batch of messages is one update, and of two values the newer stays. Refuses to judge
 * ids and values.
 */
import type { CellInfo, CollectedValues } from '../domain/collected.ts'
import { IDS_MAX } from '../domain/entity-limits.ts'
import type { Queryable } from './database.ts'
import type { EntityKey } from './entities.ts'
import { statement } from './statement.ts'

/** What one entity collected since the last batch; one row per entity and batch. */
export interface CollectedRow extends EntityKey {
  readonly values: CollectedValues
  readonly cell: CellInfo | undefined
}

const write = statement<EntityKey, [number[], bigint[], string[], (string | null)[], (Date | null)[], number]>(
  'collected_write',
  `with locked as (
     select e.partition, e.entity, i.points, i.cell_info, i.cell_at,
            e.collected ?& array(select jsonb_object_keys(i.points))
            or (select count(*) from jsonb_object_keys(e.collected || i.points)) <= $6 as fits
       from unnest($1::smallint[], $2::bigint[], $3::jsonb[], $4::text[], $5::timestamptz[])
         as i(partition, entity, points, cell_info, cell_at)
       join entity e on e.partition = i.partition and e.entity = i.entity
      order by e.partition, e.entity for update of e
   ), written as (
     update entity e
        set collected = e.collected || coalesce((
              select jsonb_object_agg(p.key, p.value) from jsonb_each(i.points) p
               where not e.collected ? p.key or (e.collected -> p.key -> 'at')::bigint <= (p.value -> 'at')::bigint), '{}'),
            cell_info = case when i.cell_at >= coalesce(e.cell_at, i.cell_at) then i.cell_info else e.cell_info end,
            cell_at = greatest(e.cell_at, i.cell_at)
       from locked i
      where e.partition = i.partition and e.entity = i.entity and i.fits
   )
   select l.partition, l.entity from locked l where not l.fits`,
)

const readIds = statement<EntityKey & { ids: string[] }, [number[], bigint[]]>(
  'collected_ids',
  `select e.partition, e.entity, array(select jsonb_object_keys(e.collected)) as ids
     from unnest($1::smallint[], $2::bigint[]) as i(partition, entity)
     join entity e on e.partition = i.partition and e.entity = i.entity`,
)

const spread = statement<unknown, [number[], bigint[]]>(
  'collected_spread_cells',
  `update entity s set cell_info = d.cell_info, cell_at = d.cell_at
     from unnest($1::smallint[], $2::bigint[]) as i(partition, entity)
     join entity d on d.partition = i.partition and d.entity = i.entity
    where s.device_partition = i.partition and s.device = i.entity and s.cell_info is distinct from d.cell_info`,
)

/**
 * Keeps what is newer than what is kept, and answers the entities that would have more ids than one may have: nothing of their rows is
 * kept. All of the entities are locked, and what they carry is where they are.
 */
export async function writeCollected(db: Queryable, rows: readonly CollectedRow[]): Promise<ReadonlySet<bigint>> {
  const unfit = await db.run(write, [
    rows.map(({ partition }) => partition),
    rows.map(({ entity }) => entity),
    rows.map(({ values }) => JSON.stringify(Object.fromEntries(values))),
    rows.map(({ cell }) => cell?.name ?? null),
    rows.map(({ cell }) => (cell ? new Date(cell.at) : null)),
    IDS_MAX,
  ])
  const full = new Set(unfit.map(({ entity }) => entity))
  const moved = rows.filter(({ cell, entity }) => cell !== undefined && !full.has(entity))
  if (moved.length > 0)
    await db.run(spread, [moved.map(({ partition }) => partition), moved.map(({ entity }) => entity)])
  return full
}

/** The ids of which entities keep a value, by the number of the entity. */
export async function readCollectedIds(db: Queryable, keys: readonly EntityKey[]): Promise<Map<bigint, Set<string>>> {
  const rows = await db.run(readIds, [keys.map(({ partition }) => partition), keys.map(({ entity }) => entity)])
  return new Map(rows.map(({ entity, ids }) => [entity, new Set(ids)]))
}
