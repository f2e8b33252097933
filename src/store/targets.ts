/**
 * The operations of a job made from its target, set-based: judged lists, tags and filters, and their places.
 * Running any of these again adds only what is missing. Refuses to decide when.
 */
import type { Queryable } from './database.ts'
import { sameKey } from './same-key.ts'
import { rankPlacesSql } from './scattering-rank.ts'
import { type SqlFragment, sql, statement } from './statement.ts'

/** What an operation type applies to: entity types, and model names, empty for any. */
export interface Applicability {
  readonly resourceTypes: readonly string[]
  readonly models: readonly string[]
}

/** How one asked identifier was judged. */
export interface Judged {
  identifier: string
  partition: number | null
  entity: bigint | null
  verdict: 'added' | 'notProvisioned' | 'notAllowed' | 'duplicated'
}

const addListed = statement<
  Judged,
  [bigint, number, readonly string[], number[], readonly string[], readonly string[]]
>(
  'targets_add_listed',
  // Neither what was asked nor what is added is joined with the found: planned for a few, that takes the square of a long list.
  `with known as materialized (
     select a.identifier, $1::bigint as job, e.partition, e.entity,
            e.resource_type = any($5::text[])
              and (cardinality($6::text[]) = 0 or coalesce(e.model = any($6::text[]), false)) as applicable
       from unnest($3::text[], $4::smallint[]) as a(identifier, partition)
       join entity e on e.partition = a.partition and e.organization = $2 and e.identifier = a.identifier
   ), found as (
     select k.identifier, k.partition, k.entity,
            case when not k.applicable then 'notAllowed' when o.entity is not null then 'duplicated' else 'added' end as verdict
       from known k left join operation o on ${sameKey('o', 'k')}
   ), added as (
     insert into operation (job, partition, entity)
     select $1, partition, entity from found where verdict = 'added' order by partition, entity
     on conflict do nothing
   )
   select identifier, partition, entity, verdict from found`,
)

/** Adds listed entities to a locked job. `identifiers` are distinct; each comes back with its verdict. */
export async function addListedOperations(
  db: Queryable,
  job: bigint,
  organization: number,
  identifiers: readonly { readonly identifier: string; readonly partition: number }[],
  applicable: Applicability,
): Promise<Judged[]> {
  if (identifiers.length === 0) return []
  const found = await db.run(addListed, [
    job,
    organization,
    identifiers.map(each => each.identifier),
    identifiers.map(each => each.partition),
    applicable.resourceTypes,
    applicable.models,
  ])
  const verdicts = new Map(found.map(each => [each.identifier, each]))
  const unknown = { partition: null, entity: null, verdict: 'notProvisioned' as const }
  return identifiers.map(({ identifier }) => verdicts.get(identifier) ?? { identifier, ...unknown })
}

const removeListed = statement<{ count: number }, [bigint, number, readonly string[], number[]]>(
  'targets_remove_listed',
  `with known as materialized (
     select $1::bigint as job, e.partition, e.entity
       from unnest($3::text[], $4::smallint[]) as a(identifier, partition)
       join entity e on e.partition = a.partition and e.organization = $2 and e.identifier = a.identifier
   ), gone as (
     delete from operation o using known k where ${sameKey('o', 'k')}
     returning o.job, o.partition, o.entity
   ), detail as (
     delete from operation_detail d using gone g where ${sameKey('d', 'g')}
   )
   select count(*)::int as count from gone`,
)

/** Takes listed entities out of a job that has not started; answers how many were in it. */
export async function removeListedOperations(
  db: Queryable,
  job: bigint,
  organization: number,
  identifiers: readonly { readonly identifier: string; readonly partition: number }[],
): Promise<number> {
  const rows = await db.run(removeListed, [
    job,
    organization,
    identifiers.map(each => each.identifier),
    identifiers.map(each => each.partition),
  ])
  return rows[0]?.count ?? 0
}

const removeTagged = statement<{ count: number }, [bigint, number, string]>(
  'targets_remove_tagged',
  `with known as materialized (
     select $1::bigint as job, e.partition, e.entity from entity e where e.organization = $2 and e.tags @> array[$3]
   ), gone as (
     delete from operation o using known k where ${sameKey('o', 'k')}
     returning o.job, o.partition, o.entity
   ), detail as (
     delete from operation_detail d using gone g where ${sameKey('d', 'g')}
   )
   select count(*)::int as count from gone`,
)

/** Takes the entities of a tag out of a job that has not started; answers how many were in it. */
export async function removeTaggedOperations(
  db: Queryable,
  job: bigint,
  organization: number,
  tag: string,
): Promise<number> {
  return (await db.run(removeTagged, [job, organization, tag]))[0]?.count ?? 0
}

/** What a tag or filter led to. `refused` holds the first 1,000 identifiers that the type does not apply to. */
export interface Resolved {
  added: number
  refusedCount: number
  refused: string[]
}

/** The condition of any of these entities or tags, over `entity e`. */
export function exceptCondition(identifiers: readonly string[], tags: readonly string[]): SqlFragment {
  return sql`e.identifier = any(${identifiers}::text[]) or e.tags && ${tags}::text[]`
}

/** The condition of a tag, over `entity e`. */
export function tagCondition(tag: string): SqlFragment {
  return sql`e.tags @> array[${tag}]`
}

/** The condition, over `entity e`, of what an operation type applies to. Never null: what has no model is not of one. */
export function appliesTo(applicable: Applicability): SqlFragment {
  const anyModel = applicable.models.length === 0
  return sql`e.resource_type = any(${applicable.resourceTypes}::text[]) and (${anyModel}::boolean or coalesce(e.model = any(${applicable.models}::text[]), false))`
}

/** Partitions of entities, the last one included. */
export interface PartitionRange {
  readonly from: number
  readonly to: number
}

/**
 * Adds every applicable entity of an organization that lies in some partitions and that a condition over `entity e` selects, and
 * reports those it does not apply to. One insert inside PostgreSQL, whatever the number.
 */
export async function addSelectedOperations(
  db: Queryable,
  job: bigint,
  organization: number,
  condition: SqlFragment,
  applicable: Applicability,
  { from, to }: PartitionRange,
): Promise<Resolved> {
  const within = sql`e.organization = ${organization} and e.partition between ${from} and ${to}`
  const [before] = await db.query<{ some: boolean }>(sql`
    select exists (select from operation where job = ${job}::bigint and partition between ${from} and ${to}) as some`)
  // In the order of the key, and without looking for each whether it is there, a million rows take a third less.
  const unlessThere = before?.some ? sql`on conflict do nothing` : sql.empty
  const [added] = await db.query<{ count: number }>(sql`
    with added as (
      insert into operation (job, partition, entity)
      select ${job}::bigint, e.partition, e.entity from entity e
       where ${within} and ${appliesTo(applicable)} and (${condition})
       order by e.partition, e.entity
      ${unlessThere} returning 1
    ) select count(*)::int as count from added`)
  const refused = await db.query<{ identifier: string; count: number }>(sql`
    select e.identifier, count(*) over ()::int as count from entity e
     where ${within} and not (${appliesTo(applicable)}) and (${condition})
     order by e.identifier limit 1000`)
  return {
    added: added?.count ?? 0,
    refusedCount: refused[0]?.count ?? 0,
    refused: refused.map(row => row.identifier),
  }
}

const someEntities = statement<{ count: number }, [number, number]>(
  'targets_some_entities',
  'select count(*)::int as count from (select e.partition from entity e where e.organization = $1 limit $2) first',
)

/** How many entities an organization has, counted up to a limit. */
export async function countEntities(db: Queryable, organization: number, limit: number): Promise<number> {
  return (await db.run(someEntities, [organization, limit]))[0]!.count
}

const takeBack = statement<{ count: number }, [bigint]>(
  'targets_take_back',
  `with gone as (delete from operation where job = $1 returning partition),
        detail as (delete from operation_detail where job = $1),
        ready as (delete from operation_ready where job = $1)
   select count(*)::int as count from gone`,
)

/** Takes back every operation of a job that launched nothing; answers how many there were. */
export async function takeBackOperations(db: Queryable, job: bigint): Promise<number> {
  return (await db.run(takeBack, [job]))[0]!.count
}

const lockRank = statement<{ free: boolean }, [bigint]>(
  'targets_try_ranking',
  'select pg_try_advisory_xact_lock($1) as free',
)
const awaitRank = statement<unknown, [bigint]>('targets_await_ranking', 'select pg_advisory_xact_lock($1)')

/** Keeps all others from ranking a job until the transaction ends; false where somebody does. Job numbers are locks of their own. */
export async function tryRanking(db: Queryable, job: bigint): Promise<boolean> {
  return (await db.run(lockRank, [job]))[0]!.free
}

/** Waits until nobody ranks a job, and keeps others from it until the transaction ends. */
export async function awaitRanking(db: Queryable, job: bigint): Promise<void> {
  await db.run(awaitRank, [job])
}

const rankSql = (strategy: boolean, unlessThere: string) => `insert into operation_ready (job, place, partition, entity)
   select $1, ranked.place, ranked.partition, ranked.entity from (${rankPlacesSql(strategy)}) ranked
   ${unlessThere}`
const rankByHash = statement<unknown, [bigint]>('targets_rank_by_hash', rankSql(false, 'on conflict do nothing'))
const rankByStrategy = statement<unknown, [bigint, number]>(
  'targets_rank_by_strategy',
  rankSql(true, 'on conflict do nothing'),
)
const rankClearedByHash = statement<unknown, [bigint]>('targets_rank_cleared_by_hash', rankSql(false, ''))
const rankClearedByStrategy = statement<unknown, [bigint, number]>(
  'targets_rank_cleared_by_strategy',
  rankSql(true, ''),
)

/** Makes every operation of a job ready at its place, once, when the job starts; answers how many. */
export function rankOperations(db: Queryable, job: bigint, factor: number | null): Promise<number> {
  return factor === null ? db.count(rankByHash, [job]) : db.count(rankByStrategy, [job, factor])
}

/** The same where nothing of the job is ready: without looking for each whether it is there, a million rows take a third less. */
export function rankClearedOperations(db: Queryable, job: bigint, factor: number | null): Promise<number> {
  return factor === null ? db.count(rankClearedByHash, [job]) : db.count(rankClearedByStrategy, [job, factor])
}

const addParameters = statement<unknown, [bigint, number[], bigint[], string[]]>(
  'targets_add_parameters',
  `with own as materialized (
     select $1::bigint as job, i.* from unnest($2::smallint[], $3::bigint[], $4::jsonb[]) as i(partition, entity, parameters)
   )
   insert into operation_detail (job, partition, entity, parameters)
   select i.job, i.partition, i.entity, i.parameters from own i join operation o on ${sameKey('o', 'i')}
   on conflict (job, partition, entity) do update set parameters = excluded.parameters`,
)

/** Gives single operations parameters of their own. */
export async function addOwnParameters(
  db: Queryable,
  job: bigint,
  own: readonly { readonly partition: number; readonly entity: bigint; readonly parameters: object }[],
): Promise<void> {
  if (own.length === 0) return
  await db.run(addParameters, [
    job,
    own.map(each => each.partition),
    own.map(each => each.entity),
    own.map(each => JSON.stringify(each.parameters)),
  ])
}
