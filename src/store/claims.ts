/**
 * What is ready to be launched, by job and place: looked at, claimed, and put there. Refuses to know which places are reached, and who may
 * launch.
 */
import type { OperationKey } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import { keyArrays } from './operations.ts'
import { sameKey } from './same-key.ts'
import { statement } from './statement.ts'

/** What may be claimed of a job: at most `quota` over its lanes, of which there are at most three, in their order. */
export interface ClaimWish {
  readonly job: bigint
  /** ranges of places, `low` included and `reached` not */
  readonly lanes: readonly { readonly low: number; readonly reached: number }[]
  readonly quota: number
}

/** An operation taken from the ready ones. */
export interface Claimed extends OperationKey {
  place: number
}

const LANES = [1, 2, 3]
const LANES_FROM = 3
const AFTER_LANES = LANES_FROM + 2 * LANES.length

/** Wishes as a table `w`, and what else is told of each from `AFTER_LANES` on. */
const wishesSql = (more: readonly (readonly [column: string, type: string])[] = []) => {
  const lanes = LANES.flatMap((_, index) => [
    `$${LANES_FROM + 2 * index}::int[]`,
    `$${LANES_FROM + 2 * index + 1}::int[]`,
  ])
  const others = more.map(([, type], index) => `$${AFTER_LANES + index}::${type}[]`)
  return `unnest($1::bigint[], $2::int[], ${[...lanes, ...others].join(', ')})
          as w(job, quota, ${[...LANES.map(lane => `low${lane}, reached${lane}`), ...more.map(([column]) => column)].join(', ')})`
}

/** Of the ready ones of `w`, `what` of the next by lane and place, at most the quota of it. */
const nextSql = (what: string, condition: string, locked: string) =>
  `select lanes.${what} from (${LANES.map(
    lane => `
           select lane.${what} from (
             select c.${what} from operation_ready c
              where c.job = w.job and c.place >= w.low${lane} and c.place < w.reached${lane}${condition}
              order by c.place limit w.quota${locked}) lane`,
  ).join(' union all ')}) lanes limit w.quota`

type WishParams = [bigint[], number[], ...number[][]]

function wishParams(wishes: readonly ClaimWish[]): WishParams {
  return [
    wishes.map(({ job }) => job),
    wishes.map(({ quota }) => quota),
    ...LANES.flatMap((_, index) => [
      wishes.map(({ lanes }) => lanes[index]?.low ?? 0),
      wishes.map(({ lanes }) => lanes[index]?.reached ?? 0),
    ]),
  ]
}

/** One claim, of all partitions or of one: in front of the order of places a filter of partitions would sort all that is due. */
const claimSql = (ofPartition: (alias: string) => string) => `delete from operation_ready r
    where r.ctid = any(array(
      select next.ctid from ${wishesSql()}
       cross join lateral (${nextSql('ctid', ofPartition('c'), ' for update skip locked')}) next))${ofPartition('r')}
   returning r.job, r.place, r.partition, r.entity`

const claim = statement<Claimed, WishParams>(
  'claims_claim',
  claimSql(() => ''),
)
const claimOfPartition = statement<Claimed, [...WishParams, number]>(
  'claims_claim_of_partition',
  claimSql(alias => ` and ${alias}.partition = $${AFTER_LANES}::smallint`),
)

/** Takes the next places of each job; what another node is taking is passed over. `partition`: only of this one. */
export function claimReady(db: Queryable, wishes: readonly ClaimWish[], partition: number | null): Promise<Claimed[]> {
  if (wishes.length === 0) return Promise.resolve([])
  const params = wishParams(wishes)
  return partition === null ? db.run(claim, params) : db.run(claimOfPartition, [...params, partition])
}

/** What a look is for: a claim in many partitions, each of which may have been claimed of before. */
export interface LookWish extends ClaimWish {
  /** by partition, below which place nothing is looked for from the place `inOrderFrom` on */
  readonly lows: ReadonlyMap<number, number>
  readonly inOrderFrom: number
}

/** How many there are. */
export interface Seen {
  job: bigint
  partition: number
  count: number
}

const look = statement<Seen, [bigint[], number[], ...(number[] | Record<string, number>[] | null)[]]>(
  'claims_look',
  `select w.job, next.partition, count(*)::int as count
     from ${wishesSql([
       ['in_order_from', 'int'],
       ['lows', 'jsonb'],
     ])}
    cross join lateral (${nextSql(
      'partition',
      `
                and ($${AFTER_LANES + 2}::smallint[] is null or c.partition = any($${AFTER_LANES + 2}::smallint[]))
                and (c.place < w.in_order_from or c.place >= coalesce((w.lows ->> c.partition::text)::int, 0))`,
      '',
    )}) next
    group by w.job, next.partition`,
)

/** Where the next places of each job lie among these partitions, null for all, and takes nothing. */
export function lookAtReady(
  db: Queryable,
  wishes: readonly LookWish[],
  partitions: readonly number[] | null,
): Promise<Seen[]> {
  if (wishes.length === 0) return Promise.resolve([])
  return db.run(look, [
    ...wishParams(wishes),
    wishes.map(({ inOrderFrom }) => inOrderFrom),
    wishes.map(({ lows }) => Object.fromEntries(lows)),
    partitions && [...partitions],
  ])
}

const enqueue = statement<unknown, [bigint[], number[], number[], bigint[]]>(
  'claims_enqueue',
  `insert into operation_ready (job, place, partition, entity)
   select distinct i.job, i.place, i.partition, i.entity
     from unnest($1::bigint[], $2::int[], $3::smallint[], $4::bigint[]) as i(job, place, partition, entity)
     join operation o on ${sameKey('o', 'i')}
   on conflict (job, place, partition, entity) do update set place = excluded.place`,
)

/**
 * Makes operations ready at places. A row that is there already is written again, so that it is ours until the commit: a claim that
 * still sees the operation as it was would take it away, and nobody would bring it back. The same may be asked twice, of an operation that
 * stood at two places.
 */
export async function enqueueReady(db: Pick<Queryable, 'run'>, ready: readonly Claimed[]): Promise<void> {
  if (ready.length === 0) return
  const [jobs, partitions, entities] = keyArrays(ready)
  await db.run(enqueue, [jobs, ready.map(each => each.place), partitions, entities])
}

const firstReady = statement<{ job: bigint; place: number }, [bigint[], number]>(
  'claims_first_ready',
  `select w.job, first.place from unnest($1::bigint[]) as w(job)
    cross join lateral (select min(place) as place from operation_ready r where r.job = w.job and r.place > $2) first
    where first.place is not null`,
)

/** The lowest place after one that is still ready, of each job. */
export async function firstReadyPlaces(
  db: Queryable,
  jobs: readonly bigint[],
  after: number,
): Promise<Map<bigint, number>> {
  const rows = await db.run(firstReady, [[...jobs], after])
  return new Map(rows.map(row => [row.job, row.place]))
}

const clearChunk = statement<{ reached: number | null }, [bigint, number, number]>(
  'claims_clear_ready_chunk',
  `with cleared as (
     delete from operation_ready
      where ctid = any(array(
        select ctid from operation_ready where job = $1 and place >= $2 order by place limit $3 for update skip locked))
     returning place
   )
   select max(place) as reached from cleared`,
)

/**
 * Takes at most `limit` operations of a job, from a place on, out of the ready ones; answers the last place that went, null where none
 * did.
 */
export async function clearReadyChunk(db: Queryable, job: bigint, from: number, limit: number): Promise<number | null> {
  return (await db.run(clearChunk, [job, from, limit]))[0]!.reached
}

const clear = statement<unknown, [bigint]>('claims_clear_ready', 'delete from operation_ready where job = $1')

/** Takes everything of a job out of the ready ones. */
export async function clearReady(db: Queryable, job: bigint): Promise<void> {
  await db.run(clear, [job])
}
