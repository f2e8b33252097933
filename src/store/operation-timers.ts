/**
 * Timers of operations: one row per batch and due second, holding keys. A due row is taken once, by whichever node comes first.
 * Refuses to know what a deadline means.
 */
import type { OperationKey } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import { keyArrays } from './operations.ts'
import { statement } from './statement.ts'

/** What a due timer asks for: judge deadlines, make retries ready, look after what a sender claimed. */
export type TimerDuty = 'deadline' | 'retry' | 'send'

/** A timer to be armed for one operation. */
export interface Timer {
  readonly key: OperationKey
  readonly dueAt: Date
  readonly duty: TimerDuty
  readonly node?: number
}

const arm = statement<unknown, [bigint[], number[], bigint[], Date[], string[], (number | null)[], number[], number[]]>(
  'operation_timers_arm',
  `insert into operation_timer (due_at, duty, node, jobs, partitions, entities)
   select t.due_at, t.duty, t.node, ($1::bigint[])[t.first:t.last], ($2::smallint[])[t.first:t.last], ($3::bigint[])[t.first:t.last]
     from unnest($4::timestamptz[], $5::text[], $6::int[], $7::int[], $8::int[]) as t(due_at, duty, node, first, last)`,
)

/** Arms timers, gathered by the second they are due in, rounded up. */
export async function armTimers(db: Pick<Queryable, 'run'>, timers: readonly Timer[]): Promise<void> {
  if (timers.length === 0) return
  const secondOf = ({ dueAt }: Timer) => Math.ceil(dueAt.getTime() / 1000)
  const rows = [...Map.groupBy(timers, each => `${secondOf(each)} ${each.duty} ${each.node}`).values()]
  const lasts: number[] = []
  for (const { length } of rows) lasts.push((lasts.at(-1) ?? 0) + length)
  await db.run(arm, [
    ...keyArrays(rows.flat().map(({ key }) => key)),
    rows.map(([timer]) => new Date(secondOf(timer!) * 1000)),
    rows.map(([timer]) => timer!.duty),
    rows.map(([timer]) => timer!.node ?? null),
    rows.map(({ length }, i) => lasts[i]! - length + 1),
    lasts,
  ])
}

/** A due timer: parallel arrays of keys. */
export interface DueTimer {
  dueAt: Date
  duty: TimerDuty
  node: number | null
  jobs: bigint[]
  partitions: number[]
  entities: bigint[]
}

const take = statement<DueTimer, [Date, number]>(
  'operation_timers_take',
  `delete from operation_timer
    where ctid = any(array(select ctid from operation_timer where due_at <= $1 order by due_at limit $2
                           for update skip locked))
   returning due_at as "dueAt", duty, node, jobs, partitions, entities`,
)

/** Takes at most `limit` timers due by now. Their work must be committed with the taking, or it is lost. */
export function takeDueTimers(db: Queryable, now: Date, limit: number): Promise<DueTimer[]> {
  return db.run(take, [now, limit])
}

const drop = statement<unknown, [Date, string, number | null, bigint[], number[], bigint[]]>(
  'operation_timers_drop',
  `delete from operation_timer
    where ctid = any(array(select ctid from operation_timer
                            where due_at = $1 and duty = $2 and node is not distinct from $3::int
                              and jobs = $4::bigint[] and partitions = $5::smallint[] and entities = $6::bigint[]
                            limit 1 for update skip locked))`,
)

/** Takes a timer that was found due before; answers false where somebody else has taken it since. */
export async function dropTimer(db: Queryable, timer: DueTimer): Promise<boolean> {
  const { dueAt, duty, node, jobs, partitions, entities } = timer
  return (await db.count(drop, [dueAt, duty, node, jobs, partitions, entities])) > 0
}

const next = statement<{ dueAt: Date | null }, []>(
  'operation_timers_next',
  'select min(due_at) as "dueAt" from operation_timer',
)

/** When the next timer is due, or null. */
export async function nextTimerAt(db: Queryable): Promise<Date | null> {
  return (await db.run(next, []))[0]?.dueAt ?? null
}

/** The keys of a timer. */
export function timerKeys(timer: DueTimer): OperationKey[] {
  return timer.jobs.map((job, i) => ({ job, partition: timer.partitions[i]!, entity: timer.entities[i]! }))
}
