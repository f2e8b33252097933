/**
 * Applies what happened to a batch of operations in one transaction: reads their rows, decides each one's happenings in order,
 * and writes one net row per operation and one net delta per job, guarded by what was read. Refuses to know where a happening
 * came from.
 */

import type { OperationKey } from '../domain/identity.ts'
import type { Transaction } from '../store/database.ts'
import { answerLateOperations, readEndedOperations } from '../store/ended-operations.ts'
import { type JobRules, readJobRules } from '../store/jobs.ts'
import {
  endOperations,
  keyText,
  lockOperations,
  type OperationRow,
  readOpenOperations,
  updateOperations,
} from '../store/operations.ts'
import {
  type Applied,
  changeOf,
  decide,
  draftedOf,
  endOf,
  type InBatch,
  inBatch,
  type JobOfBatch,
  jobOfBatch,
  lateAnswerOf,
  Outcome,
  openAs,
  openAsEnded,
  type Written,
} from './operation-batch.ts'
import type { Answer, Happening } from './operation-draft.ts'
import type { OperationMemory } from './operation-memory.ts'
import { carryOut } from './operation-writing.ts'

/** What the caller knows of the operations before they are read. */
export interface Known {
  /** rows that this transaction has read, or taken for unlaunched, of every operation that something happened to and of no other */
  readonly read?: readonly OperationRow[]
  readonly memory?: Pick<OperationMemory, 'recall'>
  /** rules that this transaction has read, of every job of these operations */
  readonly rules?: ReadonlyMap<bigint, JobRules>
}

interface Batch {
  readonly rules: Promise<ReadonlyMap<bigint, JobRules>>
  readonly now: Date
  readonly answers: Answer[]
  readonly written: Written[]
  readonly ended: string[]
}

type Jobs = ReadonlyMap<bigint, JobOfBatch>

/** More rounds than an operation can be moved by others within one transaction. */
const ROUNDS_MAX = 50

/**
 * Applies happenings, those of one operation in the order given. An operation that somebody else moved meanwhile is read and
 * decided again, so that every happening gets its answer. Fails as the database fails, and where the lifecycle has no row.
 */
export async function applyHappenings(
  tx: Transaction,
  happenings: readonly Happening[],
  now: Date,
  known: Known = {},
): Promise<Applied> {
  const operations = inBatch(happenings)
  const jobs = new Set(happenings.map(({ key }) => key.job))
  const rules = known.rules ? Promise.resolve(known.rules) : readJobRules(tx, [...jobs])
  const batch: Batch = { rules, now, answers: new Array(happenings.length), written: [], ended: [] }
  for (let round = 0; operations.size > 0; round += 1) {
    if (round === ROUNDS_MAX) throw new Error(`${operations.size} operations kept moving for ${ROUNDS_MAX} rounds`)
    await applyRound(tx, operations, batch, round === 0 ? known : null)
  }
  return { ...batch, rules: [...(await rules).values()] }
}

/** `known` is null where the operations come again. */
async function applyRound(
  tx: Transaction,
  operations: Map<string, InBatch>,
  batch: Batch,
  known: Known | null,
): Promise<void> {
  const jobs = await open(tx, operations, batch, known ?? {})
  for (const operation of operations.values()) {
    decide(operation, jobs.get(operation.key.job), batch.now, batch.answers)
  }
  await write(tx, [...operations.values()], jobs, batch, known === null)
  for (const operation of operations.values()) {
    if (!operation.isSettled) continue
    operation.waiting = operation.waiting.slice(operation.decided)
    if (operation.waiting.length === 0) operations.delete(operation.text)
  }
}

/** Finds the operations where they are now. */
async function open(
  tx: Transaction,
  operations: ReadonlyMap<string, InBatch>,
  { rules: askedRules, ended }: Batch,
  { read, memory }: Known,
): Promise<Jobs> {
  const remembered: [InBatch, OperationRow][] = []
  const unknown: OperationKey[] = []
  for (const operation of operations.values()) {
    operation.draft = null
    operation.late = null
    const row = memory?.recall(operation.text)
    if (row) remembered.push([operation, row])
    else unknown.push(operation.key)
  }
  const [rules, rows] = await Promise.all([askedRules, read ?? readOpenOperations(tx, unknown)])
  const jobs: Jobs = new Map([...rules].map(([job, rules]) => [job, jobOfBatch(rules)]))
  const openDraft = (operation: InBatch, row: OperationRow, isRecalled: boolean) => {
    const job = jobs.get(row.job)
    // A job that is gone has taken its operations along.
    if (job) openAs(operation, row, job, isRecalled)
  }
  for (const [operation, row] of remembered) openDraft(operation, row, true)
  for (const row of rows) openDraft(operations.get(keyText(row))!, row, false)
  const missing: OperationKey[] = []
  for (const { draft, key } of operations.values()) if (!draft) missing.push(key)
  for (const row of await readEndedOperations(tx, missing)) openAsEnded(operations.get(keyText(row))!, row)
  for (const key of missing) ended.push(keyText(key))
  return jobs
}

/** Writes what changed; where a row was no longer as read, its operation is not settled. */
async function write(
  tx: Transaction,
  operations: readonly InBatch[],
  jobs: Jobs,
  { now, written, ended }: Batch,
  again: boolean,
): Promise<void> {
  const { changed, kept, ends, late } = draftedOf(operations)
  // One statement planned by key meets its rows in this order; a second one, or what was refused and comes again, begins anew.
  const locked = again || (kept.length > 0 && ends.length > 0) ? changed.map(({ key }) => key) : []
  const [, keptPlaces, endedPlaces, latePlaces] = await Promise.all([
    lockOperations(tx, locked),
    updateOperations(tx, kept.map(changeOf)),
    endOperations(
      tx,
      ends.map(each => endOf(each, jobs.get(each.key.job)!, now)),
    ),
    answerLateOperations(tx, late.map(lateAnswerOf)),
  ])
  const outcome = new Outcome()
  for (const place of keptPlaces) outcome.kept(kept[place]!)
  for (const place of endedPlaces) outcome.over(ends[place]!)
  for (const place of latePlaces) outcome.answeredLate(late[place]!)
  written.push(...outcome.written)
  ended.push(...outcome.ended)
  carryOut(tx, outcome, now)
}
