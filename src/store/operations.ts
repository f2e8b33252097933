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
import { type Columns, type SharedColumns, sharedColumns } from './shared-columns.ts'
import { failsUnless, statement } from './statement.ts'

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

/**
 * The order in which everybody locks operations: two batches in different orders would wait for each other. Look-ups are quicker in it, too: each
 * finds its pages beside those of the one before.
 */
export function inLockOrder(a: OperationKey, b: OperationKey): number {
  if (a.job !== b.job) return a.job < b.job ? -1 : 1
  if (a.partition !== b.partition) return a.partition - b.partition
  return a.entity < b.entity ? -1 : 1
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

const readOwnParameters = statement<OperationKey & Pick<OperationRow, 'parameters'>, [bigint[], number[], bigint[]]>(
  'operations_read_own_parameters',
  `select d.job, d.partition, d.entity, d.parameters
     from unnest($1::bigint[], $2::smallint[], $3::bigint[]) as k(job, partition, entity)
     join operation_detail d on ${sameKey('d', 'k')}`,
)

/**
 * Operations taken for what their job made of them, none of which was launched: only parameters of their own are read. Whether they are
 * so the guard of a write tells.
 */
export async function assumeUnlaunched(db: Queryable, keys: readonly OperationKey[]): Promise<OperationRow[]> {
  if (keys.length === 0) return []
  const own = new Map((await db.run(readOwnParameters, keyArrays(keys))).map(row => [keyText(row), row.parameters]))
  return keys.map(key => {
    const parameters = own.size === 0 ? undefined : own.get(keyText(key))
    return {
      job: key.job,
      partition: key.partition,
      entity: key.entity,
      status: 'PENDING',
      attempt: 0,
      flow: null,
      startedAt: null,
      launchedAt: null,
      heardAt: null,
      deadlineAt: null,
      sender: null,
      parameters: parameters ?? null,
      hasDetailRow: parameters !== undefined,
      steps: null,
      attempts: null,
      messages: null,
      description: null,
    }
  })
}

const lock = statement<unknown, [bigint[], number[], bigint[]]>(
  'operations_lock',
  `select from operation o
     join unnest($1::bigint[], $2::smallint[], $3::bigint[]) as k(job, partition, entity)
       on ${sameKey('o', 'k')}
    order by k.job, k.partition, k.entity for no key update of o`,
)

/** Locks the open ones among the keys for the transaction, in the order in which everybody does. A single one is left to the guarded write: it has no order to keep. */
export async function lockOperations(db: Pick<Queryable, 'run'>, keys: readonly OperationKey[]): Promise<void> {
  if (keys.length > 1) await db.run(lock, keyArrays(keys))
}

/** An open operation as it is to be, with what it was read as, or taken for. */
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

const allSql = (written: string) =>
  `select ${failsUnless('count(*) = cardinality($1::bigint[])')} as whole from ${written}`

function placesWritten([written]: readonly Written[], count: number): number[] {
  return written!.places ?? Array.from({ length: count }, (_, place) => place)
}

/** A batch of changes as a table `i` with one `s` beside it: what is said of each one, and what it shares with others. */
const inputSql = (shared: SharedColumns<never>) =>
  `unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::smallint[], $5::jsonb[], $6::jsonb[], $7::jsonb[], $8::text[])
         with ordinality as i(job, partition, entity, kind, steps, attempts, messages, description, place)
       cross join lateral ${shared.sql(9)} s`
type WriteParams = [bigint[], number[], bigint[], number[], ...NewWords, ...unknown[][]]

function writeParams<Change extends OperationChange>(
  changes: readonly Change[],
  shared: SharedColumns<Change>,
): WriteParams {
  const [kindOf, ...columns] = shared.of(changes)
  return [...keyArrays(changes.map(({ after }) => after)), kindOf, ...newWords(changes), ...columns]
}

/** What it was read as, or taken for, which guards the write. */
const expected = {
  expected: ['operation_status', ({ before }) => before.status],
  expected_attempt: ['smallint', ({ before }) => before.attempt],
  expected_heard_at: ['timestamptz', ({ before }) => before.heardAt],
  expected_sender: ['int', ({ before }) => before.sender],
} satisfies Columns<OperationChange>
const asExpected = `o.status = s.expected and o.attempt = s.expected_attempt
        and o.heard_at is not distinct from s.expected_heard_at and o.sender is not distinct from s.expected_sender`

const updated = sharedColumns<OperationChange>({
  ...expected,
  status: ['operation_status', ({ after }) => after.status],
  attempt: ['smallint', ({ after }) => after.attempt],
  flow: ['operation_flow', ({ after }) => after.flow],
  started_at: ['timestamptz', ({ after }) => after.startedAt],
  launched_at: ['timestamptz', ({ after }) => after.launchedAt],
  heard_at: ['timestamptz', ({ after }) => after.heardAt],
  deadline_at: ['timestamptz', ({ after }) => after.deadlineAt],
  sender: ['int', ({ after }) => after.sender],
})

const updateSql = `with moved as (
     update operation o
        set status = s.status, attempt = s.attempt, flow = s.flow, started_at = s.started_at, launched_at = s.launched_at,
            heard_at = s.heard_at, deadline_at = s.deadline_at, sender = s.sender, steps = coalesce(i.steps, o.steps),
            attempts = coalesce(i.attempts, o.attempts), messages = coalesce(i.messages, o.messages),
            description = coalesce(i.description, o.description)
       from ${inputSql(updated)}
      where ${sameKey('o', 'i')} and ${asExpected}
     returning i.place::int - 1 as place
   )`
const update = statement<Written, WriteParams>('operations_update', `${updateSql} ${writtenSql('moved')}`)
const updateAll = statement<unknown, WriteParams>('operations_update_all', `${updateSql} ${allSql('moved')}`)

/**
 * Writes the rows whose status, attempt, last sign and sender are still as read; answers which of the changes were written, from 0. The
 * last sign tells apart two nodes that keep steps of the same operation at once, the sender two that take it in hand.
 */
export async function updateOperations(db: Queryable, changes: readonly OperationChange[]): Promise<number[]> {
  if (changes.length === 0) return []
  const rows = await db.run(update, writeParams(changes, updated))
  return placesWritten(rows, changes.length)
}

/** Like `updateOperations`, but fails with `22012` unless all of them are still as read. */
export async function updateAllOperations(
  db: Pick<Queryable, 'run'>,
  changes: readonly OperationChange[],
): Promise<void> {
  if (changes.length > 0) await db.run(updateAll, writeParams(changes, updated))
}

/** How an operation ends. */
export interface OperationEnd extends OperationChange {
  readonly organization: number
  readonly result: OperationResult
  readonly counter: Counter
  readonly endedAt: Date
}

const ended = sharedColumns<OperationEnd>({
  ...expected,
  status: ['operation_status', ({ after }) => after.status],
  attempt: ['smallint', ({ after }) => after.attempt],
  flow: ['operation_flow', ({ after }) => after.flow],
  started_at: ['timestamptz', ({ after }) => after.startedAt],
  organization: ['int', ({ organization }) => organization],
  result: ['operation_result', ({ result }) => result],
  counter: ['operation_counter', ({ counter }) => counter],
  ended_at: ['timestamptz', ({ endedAt }) => endedAt],
  detailed: ['boolean', ({ before }) => before.hasDetailRow],
})

const endSql = `with gone as (
     delete from operation o using ${inputSql(ended)}
      where ${sameKey('o', 'i')} and ${asExpected}
     returning i.place::int - 1 as place, i.job, i.partition, i.entity, s.organization, s.status, s.result, s.counter, s.attempt, s.flow,
               s.started_at, s.ended_at, s.detailed, coalesce(i.steps, o.steps) as steps, coalesce(i.attempts, o.attempts) as attempts,
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
   )`
const end = statement<Written, WriteParams>('operations_end', `${endSql} ${writtenSql('gone')}`)
const endAll = statement<unknown, WriteParams>('operations_end_all', `${endSql} ${allSql('gone')}`)

/**
 * Ends the operations that are still as read, by what `updateOperations` goes by, and frees their live slots; answers which of the
 * ends were written, from 0.
 */
export async function endOperations(db: Queryable, ends: readonly OperationEnd[]): Promise<number[]> {
  if (ends.length === 0) return []
  const rows = await db.run(end, writeParams(ends, ended))
  return placesWritten(rows, ends.length)
}

/** Like `endOperations`, but fails with `22012` unless all of them are still as read. */
export async function endAllOperations(db: Pick<Queryable, 'run'>, ends: readonly OperationEnd[]): Promise<void> {
  if (ends.length > 0) await db.run(endAll, writeParams(ends, ended))
}
