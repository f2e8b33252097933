/**
 * What is ready to be launched, by job and place, and the claiming of it. The gate lock orders every claim against whatever
 * closes a job. Refuses to know which places are reached.
 */
import type { Round } from '../domain/fairness.ts'
import type { OperationKey } from '../domain/identity.ts'
import type { JobStatus } from '../domain/job.ts'
import type { Queryable } from './database.ts'
import { keyArrays } from './operations.ts'
import { statement } from './statement.ts'

/** The one advisory lock between launching and closing: its key means nothing but must be the same on all nodes. */
const gateLock = 7_305_001

/**
 * Whoever stands still in the gate for longer, its process stopped or starved, is shown out by the server, and has done nothing: others
 * wait behind it. One that goes on afterwards repeats its transaction.
 */
const standStillMs = 1_000
const shownOut = `set_config('idle_in_transaction_session_timeout', '${standStillMs}', true)`

const enterGate = statement<unknown, []>(
  'claims_enter_gate',
  `select pg_advisory_xact_lock_shared(${gateLock}), ${shownOut}`,
)
const closeGate = statement<unknown, []>('claims_close_gate', `select pg_advisory_xact_lock(${gateLock}), ${shownOut}`)

/** Taken by claims and hand-outs before they read which jobs may launch; held until their transaction ends. */
export async function enterLaunchGate(db: Queryable): Promise<void> {
  await db.run(enterGate, [])
}

/** Taken before the statement that closes a job's gate: no claim is under way then, and the next one sees it closed. */
export async function holdLaunchGate(db: Queryable): Promise<void> {
  await db.run(closeGate, [])
}

/** What the dispatcher needs of a job that has something ready. */
export interface LaunchingJob {
  job: bigint
  organization: number
  places: number
  spreadMs: number
  launchAt: Date
  window: unknown
  overdueFrom: number
  overduePlaces: number
  overdueAt: Date | null
  overdueMs: number
  /** how many such jobs of the organization stood in line for this page, counted up to its size */
  inLine: number
}

/** Organizations are found one after the other, each by one look at an index, and of each only as many jobs as a page holds. */
const launching = statement<LaunchingJob, [number[], bigint[], boolean[], number, Date]>(
  'claims_launching_jobs',
  `with recursive organizations as (
     (select organization from job where status = 'IN_PROGRESS' order by organization limit 1)
     union all
     select (select j.organization from job j where j.status = 'IN_PROGRESS' and j.organization > o.organization
              order by j.organization limit 1)
       from organizations o where o.organization is not null
   )
   select line.job, line.organization, line.places, line.spread_ms::float8 as "spreadMs", line.launch_at as "launchAt",
          line.request -> 'schedule' -> 'window' as window, line.overdue_from as "overdueFrom",
          line.overdue_places as "overduePlaces", line.overdue_at as "overdueAt", line.overdue_ms::float8 as "overdueMs",
          line.in_line::int as "inLine"
     from organizations o
     left join unnest($1::int[], $2::bigint[], $3::boolean[]) as gone(organization, after, through)
       on gone.organization = o.organization
    cross join lateral (
      select next.*, row_number() over (order by next.job) as seat, count(*) over () as in_line
        from (select j.* from job j
               where j.organization = o.organization and j.status = 'IN_PROGRESS' and (j.stop_at is null or j.stop_at > $5)
                 and j.job > coalesce(gone.after, 0) and exists (select from operation_ready r where r.job = j.job)
               order by j.job limit $4) next) line
    order by line.seat, coalesce(gone.through, false), line.job limit $4`,
)

/**
 * Jobs in progress that have not come to their stop and have something ready: the first of each organization, then the second of each, in
 * job order, from where a round has got to; of more organizations than there is room for, those first that were not gone through.
 */
export function launchingJobs(db: Queryable, round: Round, limit: number, now: Date): Promise<LaunchingJob[]> {
  const gone = [...round.values()]
  return db.run(launching, [
    [...round.keys()],
    gone.map(({ after }) => after),
    gone.map(({ through }) => through),
    limit,
    now,
  ])
}

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

const LIMIT = `$${LANES.length * 2 + 3}`
const PARTITION = `$${LANES.length * 2 + 4}::smallint`

/** One claim, of all partitions or of one: in front of the order of places a filter of partitions would sort all that is due. */
const claimSql = (ofPartition: (alias: string) => string) => {
  const laneSql = (lane: number) => `
           select lane.ctid from (
             select c.ctid from operation_ready c
              where c.job = w.job and c.place >= w.low${lane} and c.place < w.reached${lane}${ofPartition('c')}
              order by c.place limit w.quota for update skip locked) lane`
  return `delete from operation_ready r
    where r.ctid = any(array(
      select next.ctid
        from unnest($1::bigint[], $2::int[], ${LANES.map(lane => `$${lane * 2 + 1}::int[], $${lane * 2 + 2}::int[]`).join(', ')})
          as w(job, quota, ${LANES.map(lane => `low${lane}, reached${lane}`).join(', ')})
       cross join lateral (
         select lanes.ctid from (${LANES.map(laneSql).join(' union all ')}) lanes limit w.quota) next
       limit ${LIMIT}))${ofPartition('r')}
   returning r.job, r.place, r.partition, r.entity`
}

type ClaimParams = [bigint[], number[], ...number[][], number]

const claim = statement<Claimed, ClaimParams>(
  'claims_claim',
  claimSql(() => ''),
)
const claimOfPartition = statement<Claimed, [...ClaimParams, number]>(
  'claims_claim_of_partition',
  claimSql(alias => ` and ${alias}.partition = ${PARTITION}`),
)

/**
 * Takes the next places of each job, in the order given and at most `limit` in all; what another node is taking is passed over.
 * `partition`: only of this one.
 */
export function claimReady(
  db: Queryable,
  wishes: readonly ClaimWish[],
  limit: number,
  partition: number | null,
): Promise<Claimed[]> {
  if (wishes.length === 0) return Promise.resolve([])
  const params: ClaimParams = [
    wishes.map(wish => wish.job),
    wishes.map(wish => wish.quota),
    ...LANES.flatMap(lane => [
      wishes.map(wish => wish.lanes[lane - 1]?.low ?? 0),
      wishes.map(wish => wish.lanes[lane - 1]?.reached ?? 0),
    ]),
    limit,
  ]
  return partition === null ? db.run(claim, params) : db.run(claimOfPartition, [...params, partition])
}

const enqueue = statement<unknown, [bigint[], number[], number[], bigint[]]>(
  'claims_enqueue',
  `insert into operation_ready (job, place, partition, entity)
   select i.job, i.place, i.partition, i.entity
     from unnest($1::bigint[], $2::int[], $3::smallint[], $4::bigint[]) as i(job, place, partition, entity)
     join operation o on o.job = i.job and o.partition = i.partition and o.entity = i.entity
   on conflict (job, place, partition, entity) do update set place = excluded.place`,
)

/**
 * Makes operations ready at places. A row that is there already is written again, so that it is ours until the commit: a claim that
 * still sees the operation as it was would take it away, and nobody would bring it back.
 */
export async function enqueueReady(db: Queryable, ready: readonly Claimed[]): Promise<void> {
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

const takeSlots = statement<OperationKey, [bigint[], number[], bigint[], string[]]>(
  'claims_take_slots',
  `insert into operation_live (partition, entity, name, job)
   select i.partition, i.entity, i.name, i.job
     from unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::text[]) as i(job, partition, entity, name)
     join operation o on o.job = i.job and o.partition = i.partition and o.entity = i.entity
    order by i.partition, i.entity, i.name, i.job
   on conflict do nothing
   returning job, partition, entity`,
)

/** Takes live slots in entity order; answers those that were free. */
export function takeLiveSlots(
  db: Queryable,
  wanted: readonly (OperationKey & { readonly name: string })[],
): Promise<OperationKey[]> {
  if (wanted.length === 0) return Promise.resolve([])
  return db.run(takeSlots, [...keyArrays(wanted), wanted.map(each => each.name)])
}

const freeSlots = statement<unknown, [bigint[], number[], bigint[]]>(
  'claims_free_slots',
  `delete from operation_live l using unnest($1::bigint[], $2::smallint[], $3::bigint[]) as i(job, partition, entity)
    where l.partition = i.partition and l.entity = i.entity and l.job = i.job`,
)

/** Frees the live slots that operations hold. */
export async function freeLiveSlots(db: Queryable, keys: readonly OperationKey[]): Promise<void> {
  if (keys.length > 0) await db.run(freeSlots, keyArrays(keys))
}

const clearChunk = statement<unknown, [bigint, number]>(
  'claims_clear_ready_chunk',
  `delete from operation_ready
    where ctid = any(array(select ctid from operation_ready where job = $1 limit $2 for update skip locked))`,
)

/** Takes at most `limit` operations of a job out of the ready ones; answers how many. */
export function clearReadyChunk(db: Queryable, job: bigint, limit: number): Promise<number> {
  return db.count(clearChunk, [job, limit])
}

const clear = statement<unknown, [bigint]>('claims_clear_ready', 'delete from operation_ready where job = $1')

/** Takes everything of a job out of the ready ones. */
export async function clearReady(db: Queryable, job: bigint): Promise<void> {
  await db.run(clear, [job])
}

/** What decides whether anything of a job may be launched or handed out. */
export interface GatedJobRow {
  job: bigint
  status: JobStatus
  startAt: Date | null
  stopAt: Date | null
  unresolved: number
  window: unknown
}

const gatedJobs = statement<GatedJobRow, [bigint[]]>(
  'claims_gated_jobs',
  `select job, status, start_at as "startAt", stop_at as "stopAt", jsonb_array_length(unresolved) as unresolved,
          request -> 'schedule' -> 'window' as window
     from job where job = any($1::bigint[])`,
)

/** Jobs as their gates are judged by. What was read after `enterLaunchGate` holds until the transaction ends. */
export function readGatedJobs(db: Queryable, jobs: readonly bigint[]): Promise<GatedJobRow[]> {
  return db.run(gatedJobs, [[...jobs]])
}
