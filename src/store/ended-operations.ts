/**
 * Ended operations: read by key, moved on by a late answer, and the monthly partitions they lie in.
 * Refuses to know open ones.
 */
import type { Counter } from '../domain/counters.ts'
import type { OperationKey } from '../domain/identity.ts'
import type { KeptMessage } from '../domain/kept-message.ts'
import type { OperationResult, OperationStatus } from '../domain/operation.ts'
import type { Step } from '../domain/step.ts'
import type { Queryable } from './database.ts'
import type { OperationWords } from './operation-words.ts'
import { keyArrays } from './operations.ts'
import { sameKey } from './same-key.ts'
import { statement } from './statement.ts'

/** An ended operation as stored. */
export interface EndedOperationRow extends OperationKey, OperationWords {
  organization: number
  status: OperationStatus
  result: OperationResult
  counter: Counter
  attempt: number
  startedAt: Date | null
  endedAt: Date
}

const read = statement<EndedOperationRow, [bigint[], number[], bigint[]]>(
  'ended_operations_read',
  `select o.job, o.partition, o.entity, o.organization, o.status, o.result, o.counter, o.attempt, o.started_at as "startedAt",
          o.ended_at as "endedAt", o.steps, o.attempts, o.messages, o.description
     from unnest($1::bigint[], $2::smallint[], $3::bigint[]) as k(job, partition, entity)
     join operation_ended o on ${sameKey('o', 'k')}`,
)

/** The ended ones among the keys, in no order. */
export function readEndedOperations(db: Queryable, keys: readonly OperationKey[]): Promise<EndedOperationRow[]> {
  return keys.length === 0 ? Promise.resolve([]) : db.run(read, keyArrays(keys))
}

/** What a late answer makes of an ended operation. */
export interface LateAnswer {
  readonly before: EndedOperationRow
  readonly status: OperationStatus
  readonly result: OperationResult
  readonly counter: Counter
  readonly steps: readonly Step[] | null
  readonly messages: readonly KeptMessage[] | null
  readonly description: string | null
}

const answerLate = statement<
  { place: number },
  [
    bigint[],
    number[],
    bigint[],
    string[],
    string[],
    string[],
    string[],
    (string | null)[],
    (string | null)[],
    (string | null)[],
  ]
>(
  'ended_operations_answer_late',
  `update operation_ended o
      set status = i.status, result = i.result, counter = i.counter, steps = i.steps, messages = i.messages,
          description = i.description
     from unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::operation_status[], $5::operation_status[],
                 $6::operation_result[], $7::operation_counter[], $8::jsonb[], $9::jsonb[], $10::text[]) with ordinality
       as i(job, partition, entity, expected, status, result, counter, steps, messages, description, place)
    where ${sameKey('o', 'i')} and o.status = i.expected
   returning i.place::int - 1 as place`,
)

/** Moves ended operations on; the end's date stays. Answers which of them were still as read, from 0. */
export async function answerLateOperations(db: Queryable, late: readonly LateAnswer[]): Promise<number[]> {
  if (late.length === 0) return []
  const rows = await db.run(answerLate, [
    ...keyArrays(late.map(each => each.before)),
    late.map(each => each.before.status),
    late.map(each => each.status),
    late.map(each => each.result),
    late.map(each => each.counter),
    late.map(each => (each.steps ? JSON.stringify(each.steps) : null)),
    late.map(each => (each.messages ? JSON.stringify(each.messages) : null)),
    late.map(each => each.description),
  ])
  return rows.map(({ place }) => place)
}

const countResults = statement<{ result: OperationResult; count: number }, [bigint]>(
  'ended_operations_count_results',
  'select result, count(*)::int as count from operation_ended where job = $1 group by result order by count(*) desc, result',
)

/** How many operations of a job ended with which result, most first. */
export function countEndedResults(db: Queryable, job: bigint): Promise<{ result: OperationResult; count: number }[]> {
  return db.run(countResults, [job])
}
