/**
 * Open operations: read by key, written back guarded by the status and attempt they were read with, and ended by moving to
 * `operation_ended`. Every statement takes arrays; none decides what an operation becomes.
 */
import type { Counter } from '../domain/counters.ts'
import type { OperationKey } from '../domain/identity.ts'
import type { OperationResult, OperationStatus } from '../domain/operation.ts'
import type { Queryable } from './database.ts'
import { type NewWords, newWords, type OperationWords, wordsSql } from './operation-words.ts'
import { sameKey } from './same-key.ts'
import { statement } from './statement.ts'

/** An open operation as stored. */
export interface OperationRow extends OperationKey, OperationWords {
  status: OperationStatus
  attempt: number
  flow: 'http' | 'mqtt' | 'pull' | 'function' | null
  /** the first launch */
  startedAt: Date | null
  /** the launch of the present attempt */
  launchedAt: Date | null
  heardAt: Date | null
  deadlineAt: Date | null
  /** the node that has the request in hand, while QUEUED */
  sender: number | null
  /** where they are not those of the job */
  parameters: Record<string, unknown> | null
  /** whether it has a row beside its own: for its parameters, or with the words that a build before migration 0023 kept there */
  hasDetailRow: boolean
}

/** Key arrays, as every statement on hot tables takes them. */
export function keyArrays(keys: readonly OperationKey[]): [bigint[], number[], bigint[]] {
  return [keys.map(key => key.job), keys.map(key => key.partition), keys.map(key => key.entity)]
}

/** A text by which a key is told apart in memory. */
export function keyText(key: OperationKey): string {
  return `${key.job}/${key.entity}`
}

const readOpen = statement<OperationRow, [bigint[], number[], bigint[]]>(
  'operations_read_open',
  `select o.job, o.partition, o.entity, o.status, o.attempt, o.flow, o.started_at as "startedAt",
          o.launched_at as "launchedAt", o.heard_at as "heardAt", o.deadline_at as "deadlineAt", o.sender, d.parameters,
          d.job is not null as "hasDetailRow", ${wordsSql('steps', 'o', 'd')} as steps, ${wordsSql('attempts', 'o', 'd')} as attempts,
          ${wordsSql('messages', 'o', 'd')} as messages, ${wordsSql('description', 'o', 'd')} as description
     from unnest($1::bigint[], $2::smallint[], $3::bigint[]) as k(job, partition, entity)
     join operation o on ${sameKey('o', 'k')}
     left join operation_detail d on ${sameKey('d', 'k')}`,
)

/** The open ones among the keys, in no order. */
export function readOpenOperations(db: Queryable, keys: readonly OperationKey[]): Promise<OperationRow[]> {
  return keys.length === 0 ? Promise.resolve([]) : db.run(readOpen, keyArrays(keys))
}

const lock = statement<unknown, [bigint[], number[], bigint[]]>(
  'operations_lock',
  `select from operation o
     join unnest($1::bigint[], $2::smallint[], $3::bigint[]) as k(job, partition, entity)
       on ${sameKey('o', 'k')}
    order by k.job, k.partition, k.entity for no key update of o`,
)

/** Locks the open ones among the keys for the transaction, in the order in which everybody does. A single one is left to the guarded write: it has no order to keep. */
export async function lockOperations(db: Queryable, keys: readonly OperationKey[]): Promise<void> {
  if (keys.length > 1) await db.run(lock, keyArrays(keys))
}

/** An open operation as it is to be, with what it was read as. */
export interface OperationChange {
  readonly before: OperationRow
  readonly after: OperationRow
}

/** Which rows of a batch were written, by their places from 0; null for all, as mostly it is, so that they need not be sent one by one. */
interface Written {
  places: number[] | null
}

const writtenSql = (written: string) =>
  `select case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(place), '{}') end as places from ${written}`

function placesWritten([written]: readonly Written[], count: number): number[] {
  return written!.places ?? Array.from({ length: count }, (_, place) => place)
}

const update = statement<
  Written,
  [
    bigint[],
    number[],
    bigint[],
    string[],
    number[],
    string[],
    number[],
    (string | null)[],
    (Date | null)[],
    (Date | null)[],
    (Date | null)[],
    (Date | null)[],
    (Date | null)[],
    (number | null)[],
    (number | null)[],
    ...NewWords,
  ]
>(
  'operations_update',
  `with moved as (
     update operation o
        set status = i.status, attempt = i.attempt, flow = i.flow, started_at = i.started_at, launched_at = i.launched_at,
            heard_at = i.heard_at, deadline_at = i.deadline_at, sender = i.sender, steps = coalesce(i.steps, o.steps),
            attempts = coalesce(i.attempts, o.attempts), messages = coalesce(i.messages, o.messages),
            description = coalesce(i.description, o.description)
       from unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::operation_status[], $5::smallint[], $6::operation_status[],
                   $7::smallint[], $8::operation_flow[], $9::timestamptz[], $10::timestamptz[], $11::timestamptz[],
                   $12::timestamptz[], $13::timestamptz[], $14::int[], $15::int[], $16::jsonb[], $17::jsonb[], $18::jsonb[],
                   $19::text[]) with ordinality
         as i(job, partition, entity, expected, expected_attempt, status, attempt, flow, started_at, launched_at, heard_at,
              deadline_at, expected_heard_at, sender, expected_sender, steps, attempts, messages, description, place)
      where ${sameKey('o', 'i')}
        and o.status = i.expected and o.attempt = i.expected_attempt
        and o.heard_at is not distinct from i.expected_heard_at and o.sender is not distinct from i.expected_sender
     returning i.place::int - 1 as place
   )
   ${writtenSql('moved')}`,
)

/**
 * Writes the rows whose status, attempt, last sign and sender are still as read; answers which of the changes were written, from 0. The
 * last sign tells apart two nodes that keep steps of the same operation at once, the sender two that take it in hand.
 */
export async function updateOperations(db: Queryable, changes: readonly OperationChange[]): Promise<number[]> {
  if (changes.length === 0) return []
  const rows = await db.run(update, [
    ...keyArrays(changes.map(change => change.after)),
    changes.map(({ before }) => before.status),
    changes.map(({ before }) => before.attempt),
    changes.map(({ after }) => after.status),
    changes.map(({ after }) => after.attempt),
    changes.map(({ after }) => after.flow),
    changes.map(({ after }) => after.startedAt),
    changes.map(({ after }) => after.launchedAt),
    changes.map(({ after }) => after.heardAt),
    changes.map(({ after }) => after.deadlineAt),
    changes.map(({ before }) => before.heardAt),
    changes.map(({ after }) => after.sender),
    changes.map(({ before }) => before.sender),
    ...newWords(changes),
  ])
  return placesWritten(rows, changes.length)
}

/** How an operation ends. */
export interface OperationEnd extends OperationChange {
  readonly organization: number
  readonly result: OperationResult
  readonly counter: Counter
  readonly endedAt: Date
}

const end = statement<
  Written,
  [
    bigint[],
    number[],
    bigint[],
    string[],
    number[],
    string[],
    number[],
    (string | null)[],
    (Date | null)[],
    number[],
    string[],
    string[],
    Date[],
    (Date | null)[],
    (number | null)[],
    boolean[],
    ...NewWords,
  ]
>(
  'operations_end',
  `with input as (
     select * from unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::operation_status[], $5::smallint[],
                          $6::operation_status[], $7::smallint[], $8::operation_flow[], $9::timestamptz[], $10::int[],
                          $11::operation_result[], $12::operation_counter[], $13::timestamptz[], $14::timestamptz[], $15::int[],
                          $16::boolean[], $17::jsonb[], $18::jsonb[], $19::jsonb[], $20::text[]) with ordinality
       as i(job, partition, entity, expected, expected_attempt, status, attempt, flow, started_at, organization, result, counter,
            ended_at, expected_heard_at, expected_sender, detailed, steps, attempts, messages, description, place)
   ), gone as (
     delete from operation o using input i
      where ${sameKey('o', 'i')}
        and o.status = i.expected and o.attempt = i.expected_attempt
        and o.heard_at is not distinct from i.expected_heard_at and o.sender is not distinct from i.expected_sender
     returning i.place::int - 1 as place, i.job, i.partition, i.entity, i.organization, i.status, i.result, i.counter, i.attempt, i.flow, i.started_at,
               i.ended_at, i.detailed, coalesce(i.steps, o.steps) as steps, coalesce(i.attempts, o.attempts) as attempts,
               coalesce(i.messages, o.messages) as messages, coalesce(i.description, o.description) as description
   ), freed as (
     delete from operation_live l using gone g
      where ${sameKey('l', 'g')}
   ), detail as (
     delete from operation_detail d using gone g
      where g.detailed and ${sameKey('d', 'g')}
     returning d.*
   ), ended as (
     insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, flow, started_at,
                                  ended_at, parameters, steps, attempts, messages, description)
     select g.job, g.partition, g.entity, g.organization, g.status, g.result, g.counter, g.attempt, g.flow, g.started_at,
            g.ended_at, d.parameters, ${wordsSql('steps', 'g', 'd')}, ${wordsSql('attempts', 'g', 'd')},
            ${wordsSql('messages', 'g', 'd')}, ${wordsSql('description', 'g', 'd')}
       from gone g left join detail d on d.job = g.job and d.partition = g.partition and d.entity = g.entity
   )
   ${writtenSql('gone')}`,
)

/**
 * Ends the operations that are still as read, by what `updateOperations` goes by, and frees their live slots; answers which of the
 * ends were written, from 0.
 */
export async function endOperations(db: Queryable, ends: readonly OperationEnd[]): Promise<number[]> {
  if (ends.length === 0) return []
  const rows = await db.run(end, [
    ...keyArrays(ends.map(each => each.after)),
    ends.map(({ before }) => before.status),
    ends.map(({ before }) => before.attempt),
    ends.map(({ after }) => after.status),
    ends.map(({ after }) => after.attempt),
    ends.map(({ after }) => after.flow),
    ends.map(({ after }) => after.startedAt),
    ends.map(each => each.organization),
    ends.map(each => each.result),
    ends.map(each => each.counter),
    ends.map(each => each.endedAt),
    ends.map(({ before }) => before.heardAt),
    ends.map(({ before }) => before.sender),
    ends.map(({ before }) => before.hasDetailRow),
    ...newWords(ends),
  ])
  return placesWritten(rows, ends.length)
}
