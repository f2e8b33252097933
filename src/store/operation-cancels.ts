/**
 * Mass ends: what the domain decided once per status is carried out on a job's operations, or on those of entities, in chunks by
 * key, inside PostgreSQL. Refuses to decide.
 */
import type { Counter } from '../domain/counters.ts'
import type { OperationResult, OperationStatus } from '../domain/operation.ts'
import type { Queryable } from './database.ts'
import { wordsSql } from './operation-words.ts'
import { ENTITY_KEY, sameKey } from './same-key.ts'
import { statement } from './statement.ts'

/** The decision for every open operation in a status, launched before or never. */
export interface MassAnswer {
  readonly status: OperationStatus
  readonly everLaunched: boolean
  readonly next: OperationStatus
  readonly result: OperationResult
  readonly counter: Counter
}

/** How many operations moved from which counter to which, and the last key of the chunk. */
export interface MassMove {
  job: bigint
  status: OperationStatus
  counter: Counter
  count: number
  lastPartition: number
  lastEntity: bigint
}

type MassParams = [string[], boolean[], string[], string[], string[], Date, string | null]

const answersSql = `answers as (
     select * from unnest($1::operation_status[], $2::boolean[], $3::operation_status[], $4::operation_result[],
                          $5::operation_counter[]) as a(status, ever_launched, next, result, counter)
   )`

/** `organization` of the job of `g`; `detailed` what is to be so for `g` to have details at all, known before any of them is looked for. */
const movedSql = (organization: string, detailed: string) => `freed as (
     delete from operation_live l using gone g where g.started_at is not null and ${sameKey('l', 'g')}
   ), detail as (
     delete from operation_detail d using gone g where ${detailed} and ${sameKey('d', 'g')}
   ), ended as (
     insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, flow, started_at,
                                  ended_at, parameters, steps, attempts, messages, description)
     select g.job, g.partition, g.entity, ${organization}, a.next, a.result, a.counter, g.attempt, g.flow, g.started_at,
            $6, d.parameters, ${wordsSql('steps', 'g', 'd')}, ${wordsSql('attempts', 'g', 'd')}, ${wordsSql('messages', 'g', 'd')},
            coalesce($7::text, ${wordsSql('description', 'g', 'd')})
       from gone g
       join answers a on a.status = g.status and a.ever_launched = (g.started_at is not null)
       left join operation_detail d on ${detailed} and ${sameKey('d', 'g')}
   )
   select g.job, g.status, a.counter, count(*)::int as count, max(g.partition) as "lastPartition",
          max(g.entity) as "lastEntity"
     from gone g join answers a on a.status = g.status and a.ever_launched = (g.started_at is not null)
    group by g.job, g.status, a.counter`

const endOfJob = statement<MassMove, [...MassParams, bigint, number, number, number]>(
  'operation_cancels_end_of_job',
  `with ${answersSql}, gone as (
     delete from operation where ctid = any(array(
       select ctid from operation where job = $8 and partition between $9 and $10 order by partition, entity limit $11 for update))
     returning *
   ), ${movedSql('(select organization from job where job = $8)', '(select exists (select from operation_detail where job = $8 and partition between $9 and $10))')}`,
)

const endOfEntities = statement<MassMove, [...MassParams, number[], bigint[]]>(
  'operation_cancels_end_of_entities',
  `with ${answersSql}, gone as (
     delete from operation o using unnest($8::smallint[], $9::bigint[]) as i(partition, entity)
      where ${sameKey('o', 'i', ENTITY_KEY)}
     returning o.*
   ), ${movedSql('(select organization from job j where j.job = g.job)', 'true')}`,
)

function massParams(answers: readonly MassAnswer[], endedAt: Date, description: string | null): MassParams {
  return [
    answers.map(answer => answer.status),
    answers.map(answer => answer.everLaunched),
    answers.map(answer => answer.next),
    answers.map(answer => answer.result),
    answers.map(answer => answer.counter),
    endedAt,
    description,
  ]
}

/** Ends at most `limit` open operations of a job, of some partitions, the last one included. */
export function endOperationsOfJob(
  db: Queryable,
  answers: readonly MassAnswer[],
  endedAt: Date,
  chunk: {
    readonly job: bigint
    readonly from: number
    readonly to: number
    readonly limit: number
  },
): Promise<MassMove[]> {
  return db.run(endOfJob, [...massParams(answers, endedAt, null), chunk.job, chunk.from, chunk.to, chunk.limit])
}

/** Ends every open operation of entities that are going. */
export function endOperationsOfEntities(
  db: Queryable,
  answers: readonly MassAnswer[],
  endedAt: Date,
  entities: readonly { readonly partition: number; readonly entity: bigint }[],
  description: string,
): Promise<MassMove[]> {
  return db.run(endOfEntities, [
    ...massParams(answers, endedAt, description),
    entities.map(each => each.partition),
    entities.map(each => each.entity),
  ])
}

const anyOpen = statement<{ open: boolean }, [bigint]>(
  'operation_cancels_any_open',
  'select exists (select from operation where job = $1) as open',
)

/** Whether a job has open operations. */
export async function hasOpenOperations(db: Queryable, job: bigint): Promise<boolean> {
  return (await db.run(anyOpen, [job]))[0]!.open
}
