/**
 * The monthly partitions of ended operations: made ahead, and let go as a whole. Every change of the table waits only a moment for
 * its lock, so that nothing queues up behind it. Refuses to know which months are to be kept.
 */
import type { Month } from '../domain/months.ts'
import { type Database, type Queryable, sqlState, type Transaction } from './database.ts'
import { statement } from './statement.ts'

const PREFIX = 'operation_ended_'
const LOCK_MS = 500
/** What PostgreSQL says when a lock did not come in time. */
const LOCK_NOT_AVAILABLE = '55P03'

const list = statement<{ name: string }, []>(
  'months_list',
  `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'operation_ended'::regclass and c.relname ~ '^operation_ended_[0-9]{4}_[0-9]{2}$' order by 1`,
)

/** Names (`2026_11`) of the months that have a partition, in order. */
export async function partitionedMonths(db: Queryable): Promise<string[]> {
  return (await db.run(list, [])).map(({ name }) => name.slice(PREFIX.length))
}

/** Makes the partition of a month, if there is none. Answers false where its lock did not come in time: another time, then. */
export function addMonth(database: Database, { name, from, to }: Month): Promise<boolean> {
  const table = `${PREFIX}${name}`
  return underLock(database, async tx => {
    if ((await partitionedMonths(tx)).includes(name)) return
    await tx.executeSql(`create table ${table} (like operation_ended including defaults)`)
    // What came while the month was not there lies in the rest.
    await tx.executeSql(
      `with late as (delete from operation_ended_rest where job >= ${from} and job < ${to} returning *)
       insert into ${table} select * from late`,
    )
    await tx.executeSql(`alter table operation_ended attach partition ${table} for values from (${from}) to (${to})`)
  })
}

/** Lets a month go with everything in it. Answers false where its lock did not come in time. */
export function dropMonth(database: Database, name: string): Promise<boolean> {
  if (!/^\d{4}_\d{2}$/.test(name)) throw new Error(`${name} is no month`)
  return underLock(database, async tx => {
    if (!(await partitionedMonths(tx)).includes(name)) return
    await tx.executeSql(`alter table operation_ended detach partition ${PREFIX}${name}`)
    await tx.executeSql(`drop table ${PREFIX}${name}`)
  })
}

/** Changes the table while nobody else reads or writes it, which is waited for only a moment. */
async function underLock(database: Database, change: (tx: Transaction) => Promise<void>): Promise<boolean> {
  try {
    await database.transaction(async tx => {
      await tx.executeSql(`set local lock_timeout = ${LOCK_MS}`)
      await tx.executeSql('lock table operation_ended in access exclusive mode')
      await change(tx)
    })
    return true
  } catch (error) {
    if (sqlState(error) === LOCK_NOT_AVAILABLE) return false
    throw error
  }
}

const openJobs = statement<{ open: boolean }, [bigint, bigint]>(
  'months_open_jobs',
  `select exists (select from job j where j.job >= $1 and j.job < $2
      and (j.status in ('IN_PROGRESS', 'PAUSED', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE')
           or (j.status in ('IDLE', 'SCHEDULED') and exists (select from operation_ended o where o.job = j.job)))) as open`,
)

/**
 * Whether a job of the month runs, or is to run and has operations that ended before, as those of a removed entity do: what has ended of it is
 * still counted.
 */
export async function hasRunningJobs(db: Queryable, { from, to }: Month): Promise<boolean> {
  return (await db.run(openJobs, [from, to]))[0]!.open
}

/** Numbers of jobs: `from` included, `to` excluded. */
export interface JobRange {
  readonly from: bigint
  readonly to: bigint
}

const removeJobs = statement<{ count: number }, [bigint, bigint, number]>(
  'months_remove_jobs',
  `with gone as (
     delete from job where job = any(array(
       select j.job from job j
        where j.job >= $1 and j.job < $2 and j.status in ('FINISHED', 'FINISHED_WITH_ERRORS', 'CANCELLED', 'TIMEOUT_CANCELLED')
        limit $3 for update skip locked))
     returning job
   ), counters as (delete from job_counter c using gone g where c.job = g.job
   ), deltas as (delete from job_counter_delta d using gone g where d.job = g.job
   ), told as (delete from delivery d using gone g where d.job = g.job
   ), rest as (delete from operation_ended_rest e using gone g where e.job = g.job)
   select count(*)::int as count from gone`,
)

/** Removes ended jobs of a range, at most `limit`, with all that was counted and told of them; answers how many went. */
export async function removeJobsOf(db: Queryable, { from, to }: JobRange, limit: number): Promise<number> {
  return (await db.run(removeJobs, [from, to, limit]))[0]!.count
}

const endedJobs = statement<{ count: number }, [bigint, bigint]>(
  'months_count_ended_jobs',
  `select count(*)::int as count from job
    where job >= $1 and job < $2 and status in ('FINISHED', 'FINISHED_WITH_ERRORS', 'CANCELLED', 'TIMEOUT_CANCELLED')`,
)

/** How many ended jobs a range has. */
export async function countEndedJobs(db: Queryable, { from, to }: JobRange): Promise<number> {
  return (await db.run(endedJobs, [from, to]))[0]!.count
}

const tryTurn = statement<{ taken: boolean }, []>(
  'months_try_turn',
  'select pg_try_advisory_xact_lock(7305002) as taken',
)

/** Whether this transaction may do the chores now: of many nodes, one. */
export async function mayDoChores(tx: Queryable): Promise<boolean> {
  return (await tx.run(tryTurn, []))[0]!.taken
}
