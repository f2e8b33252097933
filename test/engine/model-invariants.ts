/** What must hold of the rows in every snapshot of the database, whatever happened to whom: the invariants of the engine as queries. */
import { expect } from 'vitest'
import { recountJobs } from '../../src/store/counters.ts'
import type { Database, Queryable } from '../../src/store/database.ts'
import { readCounters } from '../../src/store/jobs.ts'
import { sql } from '../../src/store/statement.ts'

/** Each query answers the rows that break a rule; their names are the rules. */
const RULES: readonly (readonly [string, ReturnType<typeof sql>])[] = [
  [
    'an operation is open or ended, never both',
    sql`select o.job, o.entity from operation o join operation_ended e using (job, partition, entity)`,
  ],
  [
    'attempts never exceed retries + 1',
    sql`select o.job, o.entity, o.attempt from (select job, entity, attempt from operation
          union all select job, entity, attempt from operation_ended) o
          join job j using (job) where o.attempt > j.retries + 1`,
  ],
  [
    'no entity has two launched operations of the same name',
    sql`select o.partition, o.entity, j.name from operation o join job j using (job)
         where o.status <> 'PENDING' group by 1, 2, 3 having count(*) > 1`,
  ],
  [
    'an operation holds its live slot from its first launch to its end',
    sql`select o.job, o.entity from operation o join job j using (job)
          left join operation_live l on l.partition = o.partition and l.entity = o.entity and l.name = j.name and l.job = o.job
         where (o.started_at is not null) <> (l.job is not null)`,
  ],
  [
    'a live slot belongs to an open operation',
    sql`select l.job, l.entity from operation_live l left join operation o using (job, partition, entity) where o.job is null`,
  ],
  [
    'what is to be launched is ready, or waits in a timer',
    sql`select o.job, o.entity from operation o join job j using (job)
         where o.status = 'PENDING' and j.status in ('IN_PROGRESS', 'PAUSED')
           and not exists (select from operation_ready r where r.job = o.job and r.entity = o.entity)
           and not exists (select from operation_timer t where t.duty = 'retry' and o.job = any(t.jobs) and o.entity = any(t.entities))`,
  ],
  [
    'what is queued is ready again, or in the hands of a node that is looked after',
    sql`select o.job, o.entity from operation o join job j using (job)
         where o.status = 'QUEUED' and j.status in ('IN_PROGRESS', 'PAUSED')
           and not exists (select from operation_ready r where r.job = o.job and r.entity = o.entity)
           and not exists (select from operation_timer t where t.duty = 'send' and t.node = o.sender
                              and o.job = any(t.jobs) and o.entity = any(t.entities))`,
  ],
  [
    'what has a deadline has a timer for it',
    sql`select o.job, o.entity, o.status from operation o
         where o.deadline_at is not null and o.status <> 'PENDING'
           and not exists (select from operation_timer t where t.duty = 'deadline' and t.due_at >= o.deadline_at
                              and t.due_at < o.deadline_at + interval '1 s' and o.job = any(t.jobs) and o.entity = any(t.entities))`,
  ],
  [
    'what runs has a deadline',
    sql`select o.job, o.entity, o.status from operation o where o.status = 'IN_PROGRESS' and o.deadline_at is null`,
  ],
  [
    'a job that has ended has nothing open, and is dated',
    sql`select j.job from job j where j.status in ('FINISHED', 'FINISHED_WITH_ERRORS', 'CANCELLED', 'TIMEOUT_CANCELLED')
           and (j.finished_at is null or exists (select from operation o where o.job = j.job))`,
  ],
  [
    'what has ended has a result and a counter that go together',
    sql`select job, entity, status, result, counter from operation_ended e
         where not case e.status
           when 'FINISHED' then e.counter = case when e.result in ('SUCCESSFUL', 'PARTIAL_SUCCESS') then 'successful' else 'error' end::operation_counter
           when 'FINISHED_OUT_OF_TIME' then
             e.counter = case when e.result in ('SUCCESSFUL', 'PARTIAL_SUCCESS') then 'oot_successful' else 'oot_error' end::operation_counter
           when 'TIMEOUT_CANCELLED' then (e.result, e.counter) in (('ERROR_TIMEOUT', 'by_timeout'), ('TIMEOUT_CANCELLED', 'by_engine'))
           when 'CANCELLED' then (e.result, e.counter) in (('CANCELLED', 'by_user'), ('CANCELLED', 'by_external'),
             ('CANCELLED', 'by_external_timeout'), ('CANCELLED_INTERNAL', 'by_engine'), ('ALREADY_IN_PROGRESS', 'by_already_in_progress'))
           else false end`,
  ],
  [
    'a job ends as its operations did, or as it was cancelled',
    sql`select j.job, j.status from job j
          cross join lateral (select coalesce(bool_and(e.counter = 'successful'), false) as successful,
                                     coalesce(bool_or(e.counter = 'by_user'), false) as by_user,
                                     coalesce(bool_or(e.result = 'TIMEOUT_CANCELLED'), false) as by_stop
                                from operation_ended e where e.job = j.job) e
         where j.status = 'FINISHED' and not e.successful
            or j.status = 'FINISHED_WITH_ERRORS' and e.successful
            or e.by_user and j.status not in ('CANCELLING_BY_USER', 'CANCELLED')
            or e.by_stop and j.status not in ('CANCELLING_BY_ENGINE', 'TIMEOUT_CANCELLED')`,
  ],
  [
    'no job touches what belongs to another organization',
    sql`select o.job, o.entity from (select job, partition, entity from operation
          union all select job, partition, entity from operation_ended) o
          join job j using (job)
          join (select partition, entity, organization from entity
                union all select partition, entity, organization from former_entity) e using (partition, entity)
         where e.organization <> j.organization`,
  ],
]

/** What was answered with success: it survives whatever comes. */
export interface Answered {
  /** messages of devices, by their raw text */
  readonly taken: readonly string[]
  readonly created: ReadonlySet<bigint>
  readonly cancelled: ReadonlySet<bigint>
}

/** Answers what is wrong, in words. `atEnd`: everything has come to its end. */
export type Judge = (db: Queryable, atEnd: boolean) => Promise<string[]>

export interface ModelJudge {
  /** Holds the database to every rule, to what was answered and to what was so before, in one snapshot. */
  hold(answered: Answered): Promise<void>
  /** Holds it to having come to an end: everything final and told, nothing left over. */
  holdEnd(): Promise<void>
}

/** A judge who remembers what had ended when it was last asked. */
export function createJudge(database: Database, judges: readonly Judge[]): ModelJudge {
  let finalOperations: ReadonlyMap<string, FinalOperation> = new Map()
  let finalJobs: ReadonlyMap<string, FinalJob> = new Map()

  /** What is final stays as it is; a late answer alone moves an operation that was cancelled after its launch. */
  async function holdFinal(db: Queryable): Promise<void> {
    const jobs = await db.query<FinalJob>(sql`
      select job, status, finished_at as "finishedAt", error_description as "errorDescription" from job where finished_at is not null`)
    const operations = await db.query<FinalOperation>(sql`
      select job, entity, status, result, counter, attempt, ended_at as "endedAt", started_at as "startedAt" from operation_ended`)
    const nowJobs = new Map(jobs.map(row => [String(row.job), row]))
    const nowOperations = new Map(operations.map(row => [`${row.job}/${row.entity}`, row]))
    for (const [key, before] of finalJobs) expect(nowJobs.get(key), 'the end of a job stays as it is').toEqual(before)
    for (const [key, before] of finalOperations) {
      const now = nowOperations.get(key)
      const late =
        now?.status === 'FINISHED_OUT_OF_TIME' &&
        (before.status === 'CANCELLED' || before.status === 'TIMEOUT_CANCELLED') &&
        before.startedAt !== null
      const expected = late ? { ...before, status: now.status, result: now.result, counter: now.counter } : before
      expect(now, 'the end of an operation stays as it is').toEqual(expected)
    }
    finalJobs = nowJobs
    finalOperations = nowOperations
  }

  return {
    async hold({ taken, created, cancelled }) {
      await database.transaction(
        async tx => {
          for (const [rule, broken] of RULES) expect(await tx.query(broken), rule).toEqual([])
          const [kept] = await tx.query<{ lost: string[]; gone: bigint[]; revived: bigint[] }>(sql`
            select array(select unnest(${taken}::text[]) except
                         select m ->> 'raw' from (select messages from operation union all select messages from operation_ended) o,
                                jsonb_array_elements(o.messages) m
                         except select message from filed_message) as lost,
                   array(select unnest(${[...created]}::bigint[]) except select job from job) as gone,
                   array(select unnest(${[...cancelled]}::bigint[]) except
                         select job from job where status in ('CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE', 'CANCELLED', 'TIMEOUT_CANCELLED'))
                     as revived`)
          expect(kept, 'what was answered with success survives').toEqual({ lost: [], gone: [], revived: [] })
          const jobs = (await tx.query<{ job: bigint }>(sql`select job from job`)).map(({ job }) => job)
          expect(await readCounters(tx, jobs), 'counters equal a recount').toEqual(await recountJobs(tx, jobs))
          for (const judge of judges) expect(await judge(tx, false)).toEqual([])
          await holdFinal(tx)
        },
        { snapshot: true },
      )
    },
    async holdEnd() {
      const left = await database.query(sql`
        select (select count(*)::int from job where finished_at is null) as jobs, (select count(*)::int from operation) as open,
               (select count(*)::int from operation_detail) as details, (select count(*)::int from operation_ready) as ready,
               (select count(*)::int from operation_live) as live,
               (select count(*)::int from task where state not in ('FINISHED', 'CANCELLED')) as tasks`)
      expect(left).toEqual([{ jobs: 0, open: 0, details: 0, ready: 0, live: 0, tasks: 0 }])
      for (const judge of judges) expect(await judge(database, true)).toEqual([])
    },
  }
}

interface FinalJob {
  readonly job: bigint
  readonly status: string
  readonly finishedAt: Date
  readonly errorDescription: string | null
}

interface FinalOperation {
  readonly job: bigint
  readonly entity: bigint
  readonly status: string
  readonly result: string
  readonly counter: string
  readonly attempt: number
  readonly endedAt: Date
  readonly startedAt: Date | null
}
