/**
 * What the rows of one job tell beside its counters: how its operations failed, when they were launched and ended, and the messages
 * of one. It reads a job whole, so nobody asks it often. Refuses to conclude anything.
 */
import type { Counter } from '../domain/counters.ts'
import type { OperationKey } from '../domain/identity.ts'
import type { KeptMessage } from '../domain/kept-message.ts'
import type { OperationResult, OperationStatus } from '../domain/operation.ts'
import type { Queryable } from './database.ts'
import { wordsSql } from './operation-words.ts'
import { statement } from './statement.ts'

/** Operations that ended in one way. */
export interface FailedAlike {
  status: OperationStatus
  result: OperationResult
  step: string | null
  stepDescription: string
  description: string
  /** what they are counted as */
  counter: Counter
  count: number
}

const failures = statement<FailedAlike, [bigint, number]>(
  'job_insight_failures',
  `select x.status, x.result, failed.step, coalesce(failed.description, '') as "stepDescription",
          coalesce(x.description, '') as description, x.counter, count(*)::int as count
     from operation_ended x
     left join lateral (
       select element ->> 'name' as step, element ->> 'description' as description
         from jsonb_array_elements(case jsonb_typeof(x.steps) when 'array' then x.steps end) with ordinality as e(element, position)
        where element ->> 'result' = 'ERROR' order by position desc limit 1) failed on true
    where x.job = $1 and x.result <> 'SUCCESSFUL' and x.counter not in ('successful', 'oot_successful')
    group by 1, 2, 3, 4, 5, 6 order by count desc, result, step, 4, 5, counter limit $2`,
)

/** How the operations of a job ended without success, the most frequent way first. */
export function readFailures(db: Queryable, job: bigint, limit: number): Promise<FailedAlike[]> {
  return db.run(failures, [job, limit])
}

/** What happened within one step of time. */
export interface StepOfTime {
  /** from 0; what lies before the first step counts there */
  step: number
  launched: number
  ended: number
  successful: number
  /** milliseconds from launch to end, added up over what was launched and ended */
  tookMs: number
  /** of how many */
  took: number
}

const steps = statement<StepOfTime, [bigint, Date, number]>(
  'job_insight_steps',
  `with operations as (
     select started_at, null::timestamptz as ended_at, false as successful from operation where job = $1 and started_at is not null
     union all
     select started_at, ended_at, counter = 'successful' from operation_ended where job = $1),
   moments as (
     select started_at as at, 1 as launched, 0 as ended, 0 as successful, 0::float8 as took_ms, 0 as took
       from operations where started_at is not null
     union all
     select ended_at, 0, 1, successful::int, coalesce(extract(epoch from ended_at - started_at) * 1000, 0)::float8,
            (started_at is not null)::int
       from operations where ended_at is not null)
   select greatest(0, floor(extract(epoch from at - $2) * 1000 / $3::float8))::int as step, sum(launched)::int as launched,
          sum(ended)::int as ended, sum(successful)::int as successful, sum(took_ms)::float8 as "tookMs", sum(took)::int as took
     from moments group by 1 order by 1`,
)

/** Launches and ends of a job's operations, by steps of so many milliseconds from an instant on; steps in which nothing happened are left out. */
export function readStepsOfTime(db: Queryable, job: bigint, from: Date, stepMs: number): Promise<StepOfTime[]> {
  return db.run(steps, [job, from, stepMs])
}

const messages = statement<{ messages: KeptMessage[] | null }, [bigint, number, bigint]>(
  'job_insight_messages',
  `select ${wordsSql('messages', 'o', 'd')} as messages from operation o
     left join operation_detail d on d.job = o.job and d.partition = o.partition and d.entity = o.entity
    where o.job = $1 and o.partition = $2 and o.entity = $3
   union all
   select x.messages from operation_ended x where x.job = $1 and x.partition = $2 and x.entity = $3`,
)

/** The messages taken about one operation, oldest first. */
export async function readMessages(db: Queryable, { job, partition, entity }: OperationKey): Promise<KeptMessage[]> {
  return (await db.run(messages, [job, partition, entity])).flatMap(row => row.messages ?? [])
}

const filed = statement<{ at: Date; reason: string; raw: string }, [number, string]>(
  'job_insight_filed',
  `select received_at as at, reason, message as raw from filed_message
    where organization = $1 and operation_id = $2 order by received_at limit 100`,
)

/** Messages about one operation that changed nothing, oldest first. */
export function readFiledMessages(
  db: Queryable,
  organization: number,
  operationId: string,
): Promise<{ at: Date; reason: string; raw: string }[]> {
  return db.run(filed, [organization, operationId])
}
