/**
 * Applies what happened to a batch of operations in one transaction: reads their rows, decides each one's happenings in order,
 * and writes one net row per operation and one net delta per job, guarded by what was read. Refuses to know where a happening
 * came from.
 */

import { openCounter } from '../domain/counters.ts'
import type { OperationKey } from '../domain/identity.ts'
import { isCancelling } from '../domain/job.ts'
import { FIRST_PLACE } from '../domain/launching.ts'
import { type OperationRules, pauseBeforeAttempt } from '../domain/operation-event.ts'
import { enqueueReady } from '../store/claims.ts'
import { CounterDeltas, writeDeltas } from '../store/counters.ts'
import type { Transaction } from '../store/database.ts'
import { answerLateOperations, readEndedOperations } from '../store/ended-operations.ts'
import { type JobRules, readJobRules } from '../store/jobs.ts'
import { armTimers, type Timer } from '../store/operation-timers.ts'
import {
  endOperations,
  inLockOrder,
  keyText,
  lockOperations,
  type OperationRow,
  readOpenOperations,
  updateOperations,
} from '../store/operations.ts'
import { type Answer, EndedDraft, type Happening, OperationDraft } from './operation-draft.ts'
import type { OperationMemory } from './operation-memory.ts'

/** An open operation as it was written. */
export interface Written {
  readonly row: OperationRow
  /** its `keyText` */
  readonly text: string
}

/** What came of a batch. */
export interface Applied {
  /** by happening, in the order given */
  readonly answers: readonly Answer[]
  /** open operations as they were written */
  readonly written: readonly Written[]
  /** those that ended, by `keyText` */
  readonly ended: readonly string[]
}

/** What the caller knows of the operations before they are read. */
export interface Known {
  /** rows that this transaction has read, or taken for unlaunched, of every operation that something happened to and of no other */
  readonly read?: readonly OperationRow[]
  readonly memory?: Pick<OperationMemory, 'recall'>
  /** rules that this transaction has read, of every job of these operations */
  readonly rules?: ReadonlyMap<bigint, JobRules>
}

/** An operation of the batch, and how far it has come in a round. */
interface InBatch {
  readonly key: OperationKey
  /** its `keyText` */
  readonly text: string
  /** what is still to be applied to it, in order */
  waiting: { readonly happening: Happening; readonly index: number }[]
  /** where it is open */
  draft: OperationDraft | null
  /** where it has ended before */
  late: EndedDraft | null
  /** whether the draft is of a remembered row, which may be out of date */
  isRecalled: boolean
  /** how many of `waiting` were decided */
  decided: number
  /** whether what was decided counts: written, or nothing to write */
  isSettled: boolean
}

/** What is the same for all operations of a job. */
interface JobOfBatch {
  readonly organization: number
  readonly rules: OperationRules
  readonly isClosing: boolean
}

interface Batch {
  readonly jobs: Promise<ReadonlyMap<bigint, JobOfBatch>>
  readonly now: Date
  readonly answers: Answer[]
  readonly written: Written[]
  readonly ended: string[]
}

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
  const jobs = jobsOf(tx, happenings, known.rules)
  const batch: Batch = { jobs, now, answers: new Array(happenings.length), written: [], ended: [] }
  for (let round = 0; operations.size > 0; round += 1) {
    if (round === ROUNDS_MAX) throw new Error(`${operations.size} operations kept moving for ${ROUNDS_MAX} rounds`)
    await applyRound(tx, operations, batch, round === 0 ? known : null)
  }
  return batch
}

/** The operations that something happened to, by `keyText`. */
function inBatch(happenings: readonly Happening[]): Map<string, InBatch> {
  const operations = new Map<string, InBatch>()
  for (const [index, happening] of happenings.entries()) {
    const { key } = happening
    const text = keyText(key)
    const known = operations.get(text)
    if (known) known.waiting.push({ happening, index })
    else {
      const waiting = [{ happening, index }]
      const fresh = { draft: null, late: null, isRecalled: false, decided: 0, isSettled: false }
      operations.set(text, { key, text, waiting, ...fresh })
    }
  }
  return operations
}

async function jobsOf(
  tx: Transaction,
  happenings: readonly Happening[],
  known: Known['rules'],
): Promise<Map<bigint, JobOfBatch>> {
  const rows = known ?? (await readJobRules(tx, [...new Set(happenings.map(({ key }) => key.job))]))
  return new Map(
    [...rows].map(([job, row]) => {
      const rules = { ...row, retryResults: new Set(row.retryResults) }
      return [job, { organization: row.organization, rules, isClosing: isCancelling(row.status) }]
    }),
  )
}

/** `known` is null where the operations come again. */
async function applyRound(
  tx: Transaction,
  operations: Map<string, InBatch>,
  batch: Batch,
  known: Known | null,
): Promise<void> {
  const jobs = await open(tx, operations, batch.jobs, known ?? {})
  for (const operation of operations.values()) decide(operation, jobs, batch)
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
  askedJobs: Batch['jobs'],
  { read, memory }: Known,
): Promise<ReadonlyMap<bigint, JobOfBatch>> {
  const remembered: [InBatch, OperationRow][] = []
  const unknown: OperationKey[] = []
  for (const operation of operations.values()) {
    operation.draft = null
    operation.late = null
    const row = memory?.recall(operation.text)
    if (row) remembered.push([operation, row])
    else unknown.push(operation.key)
  }
  const [jobs, rows] = await Promise.all([askedJobs, read ?? readOpenOperations(tx, unknown)])
  const openDraft = (operation: InBatch, row: OperationRow, isRecalled: boolean) => {
    const job = jobs.get(row.job)
    // A job that is gone has taken its operations along.
    if (!job) return
    operation.draft = new OperationDraft(row, job.rules, job.isClosing)
    operation.isRecalled = isRecalled
  }
  for (const [operation, row] of remembered) openDraft(operation, row, true)
  for (const row of rows) openDraft(operations.get(keyText(row))!, row, false)
  const missing: OperationKey[] = []
  for (const { draft, key } of operations.values()) if (!draft) missing.push(key)
  for (const row of await readEndedOperations(tx, missing)) operations.get(keyText(row))!.late = new EndedDraft(row)
  return jobs
}

/** Decides what waits for an operation: what follows its end finds it among the ended ones, in the next round. */
function decide(operation: InBatch, jobs: ReadonlyMap<bigint, JobOfBatch>, { now, answers }: Batch): void {
  const { draft, late, key, waiting } = operation
  operation.decided = 0
  operation.isSettled = true
  try {
    for (const { happening, index } of waiting) {
      if (draft?.end) break
      answers[index] =
        draft?.apply(happening, now) ?? late?.apply(happening, jobs.get(key.job)!.rules, now) ?? 'unknown'
      operation.decided += 1
    }
  } catch (error) {
    if (!draft || !operation.isRecalled) throw error
    operation.draft = null
    operation.isSettled = false
  }
  // Memory may be out of date: what leaves the row as it is goes past the guard that would tell.
  if (draft && operation.isRecalled && !draft.changed) operation.isSettled = false
}

type Open = InBatch & { readonly draft: OperationDraft }
type Late = InBatch & { readonly late: EndedDraft }

/** Writes what changed; where a row was no longer as read, its operation is not settled. */
async function write(
  tx: Transaction,
  operations: readonly InBatch[],
  jobs: ReadonlyMap<bigint, JobOfBatch>,
  { now, written, ended }: Batch,
  again: boolean,
): Promise<void> {
  const changed = operations
    .filter((each): each is Open => each.draft?.changed === true)
    .sort((a, b) => inLockOrder(a.key, b.key))
  const late = operations
    .filter((each): each is Late => each.late?.changed === true)
    .sort((a, b) => inLockOrder(a.key, b.key))
  for (const each of [...changed, ...late]) each.isSettled = false
  const kept = changed.filter(({ draft }) => !draft.end)
  const ends = changed.filter(({ draft }) => draft.end)
  const deltas = new CounterDeltas()

  const changes = kept.map(({ draft: { before, row } }) => ({ before, after: row }))
  const closing = ends.map(({ draft: { before, row, end } }) => ({
    before,
    after: row,
    organization: jobs.get(row.job)!.organization,
    result: end!.result,
    counter: end!.counter,
    endedAt: now,
  }))
  const answering = late.map(({ late: { before, row } }) => ({ before, ...lateOf(row) }))
  // One statement planned by key meets its rows in this order; a second one, or what was refused and comes again, begins anew.
  const locked = again || (kept.length > 0 && ends.length > 0) ? changed.map(({ key }) => key) : []
  const [, keptPlaces, endedPlaces, latePlaces] = await Promise.all([
    lockOperations(tx, locked),
    updateOperations(tx, changes),
    endOperations(tx, closing),
    answerLateOperations(tx, answering),
  ])
  const live: OperationDraft[] = []
  for (const place of keptPlaces) {
    const operation = kept[place]!
    const { before, row } = operation.draft
    operation.isSettled = true
    deltas.move(row.job, openCounter(before.status), openCounter(row.status))
    live.push(operation.draft)
    written.push({ row, text: operation.text })
  }
  for (const place of endedPlaces) {
    const operation = ends[place]!
    const { before, row, end } = operation.draft
    operation.isSettled = true
    deltas.move(row.job, openCounter(before.status), end!.counter)
    ended.push(operation.text)
  }
  for (const place of latePlaces) {
    const operation = late[place]!
    const { before, row } = operation.late
    operation.isSettled = true
    deltas.move(row.job, before.counter, row.counter)
  }
  carryOut(tx, live, now)
  tx.behind(writeDeltas(tx, deltas))
}

function carryOut(tx: Transaction, drafts: readonly OperationDraft[], now: Date): void {
  const timers: Timer[] = []
  const ready: OperationRow[] = []
  for (const { row, rules, consequences } of drafts) {
    if (consequences.deadline) timers.push({ key: row, dueAt: row.deadlineAt!, duty: 'deadline' })
    const pause = consequences.retry ? pauseBeforeAttempt(rules, row.startedAt !== null) : 0
    if (pause > 0) timers.push({ key: row, dueAt: new Date(now.getTime() + pause), duty: 'retry' })
    else if (consequences.retry || consequences.enqueue) ready.push(row)
  }
  const places = ready.map(({ job, partition, entity }) => ({ job, partition, entity, place: FIRST_PLACE }))
  tx.behind(armTimers(tx, timers))
  tx.behind(enqueueReady(tx, places))
}

const lateOf = ({ status, result, counter, steps, messages, description }: EndedDraft['row']) => ({
  status,
  result,
  counter,
  steps,
  messages,
  description,
})
