/**
 * Applies what happened to a batch of operations in one transaction: reads their rows, decides each one's happenings in order,
 * and writes one net row per operation and one net delta per job, guarded by what was read. Refuses to know where a happening
 * came from.
 */

import { openCounter } from '../domain/counters.ts'
import type { OperationKey } from '../domain/identity.ts'
import { isCancelling } from '../domain/job.ts'
import { FIRST_PLACE } from '../domain/launching.ts'
import type { OperationRules } from '../domain/operation-event.ts'
import { enqueueReady } from '../store/claims.ts'
import { CounterDeltas, writeDeltas } from '../store/counters.ts'
import type { Transaction } from '../store/database.ts'
import { answerLateOperations, readEndedOperations } from '../store/ended-operations.ts'
import { type JobRules, readJobRules } from '../store/jobs.ts'
import { armTimers, type Timer } from '../store/operation-timers.ts'
import {
  endOperations,
  keyText,
  lockOperations,
  type OperationRow,
  readOpenOperations,
  updateOperations,
  writeDetails,
} from '../store/operations.ts'
import { type Answer, EndedDraft, type Happening, OperationDraft } from './operation-draft.ts'
import type { OperationMemory } from './operation-memory.ts'

/** What came of a batch. */
export interface Applied {
  /** by happening, in the order given */
  readonly answers: readonly Answer[]
  /** open operations as they were written */
  readonly written: readonly OperationRow[]
  /** those that ended, by `keyText` */
  readonly ended: readonly string[]
}

/** What the caller knows of the operations before they are read. */
export interface Known {
  /** rows that this transaction has read, of every operation that something happened to */
  readonly read?: readonly OperationRow[]
  readonly memory?: Pick<OperationMemory, 'recall'>
}

/** Happenings of one operation still to be applied, in order. */
interface Queue {
  readonly key: OperationKey
  waiting: { readonly happening: Happening; readonly index: number }[]
}

interface Batch {
  readonly jobs: Promise<ReadonlyMap<bigint, JobRules>>
  readonly now: Date
  readonly answers: Answer[]
  readonly written: OperationRow[]
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
  const queues = new Map<string, Queue>()
  happenings.forEach((happening, index) => {
    const text = keyText(happening.key)
    let queue = queues.get(text)
    if (!queue) {
      queue = { key: happening.key, waiting: [] }
      queues.set(text, queue)
    }
    queue.waiting.push({ happening, index })
  })
  const jobs = readJobRules(tx, [...new Set(happenings.map(({ key }) => key.job))])
  const batch: Batch = { jobs, now, answers: new Array(happenings.length), written: [], ended: [] }
  for (let round = 0; queues.size > 0; round += 1) {
    if (round === ROUNDS_MAX) throw new Error(`${queues.size} operations kept moving for ${ROUNDS_MAX} rounds`)
    await applyRound(tx, queues, batch, round === 0 ? known : null)
  }
  return batch
}

/** `known` is null where the operations come again. */
async function applyRound(
  tx: Transaction,
  queues: Map<string, Queue>,
  batch: Batch,
  known: Known | null,
): Promise<void> {
  const { now, answers } = batch
  const { jobs, drafts, recalled, ended } = await openDrafts(tx, queues, batch.jobs, known ?? {})
  const done = new Map<string, number>()
  const undecided = new Set<string>()
  for (const [text, queue] of queues) {
    const draft = drafts.get(text)
    const late = ended.get(text)
    let count = 0
    try {
      // What follows an end finds the operation among the ended ones, in the next round.
      for (const { happening, index } of queue.waiting) {
        if (draft?.end) break
        answers[index] = draft
          ? draft.apply(happening, now)
          : (late?.apply(happening, operationRules(jobs.get(queue.key.job)!), now) ?? 'unknown')
        count += 1
      }
    } catch (error) {
      if (!recalled.has(text)) throw error
      drafts.delete(text)
      undecided.add(text)
    }
    // Memory may be out of date: what leaves the row as it is goes past the guard that would tell.
    if (recalled.has(text) && !draft?.changed) undecided.add(text)
    done.set(text, count)
  }

  const refused = await write(tx, drafts, ended, jobs, batch, known === null)
  for (const [text, count] of done) {
    if (undecided.has(text) || refused.has(text)) continue
    const queue = queues.get(text)!
    queue.waiting = queue.waiting.slice(count)
    if (queue.waiting.length === 0) queues.delete(text)
  }
}

/** What a round begins with. */
interface Opened {
  readonly jobs: ReadonlyMap<bigint, JobRules>
  /** by `keyText`, as all here */
  readonly drafts: Drafts
  /** those that come from memory */
  readonly recalled: ReadonlySet<string>
  readonly ended: ReadonlyMap<string, EndedDraft>
}

async function openDrafts(
  tx: Transaction,
  queues: ReadonlyMap<string, Queue>,
  askedJobs: Promise<ReadonlyMap<bigint, JobRules>>,
  { read, memory }: Known,
): Promise<Opened> {
  const remembered = new Map<string, OperationRow>()
  for (const text of queues.keys()) {
    const row = memory?.recall(text)
    if (row !== undefined) remembered.set(text, row)
  }
  const unknown = [...queues].filter(([text]) => !remembered.has(text)).map(([, { key }]) => key)
  const [jobs, rows] = await Promise.all([askedJobs, read ?? readOpenOperations(tx, unknown)])
  const drafts: Drafts = new Map()
  const recalled = new Set<string>()
  for (const [text, row] of remembered) {
    const job = jobs.get(row.job)
    // A job that is gone has taken its operations along.
    if (job === undefined) continue
    drafts.set(text, openDraft(row, job))
    recalled.add(text)
  }
  for (const row of rows) drafts.set(keyText(row), openDraft(row, jobs.get(row.job)!))
  const missing = [...queues].filter(([text]) => !drafts.has(text)).map(([, { key }]) => key)
  const endedRows = await readEndedOperations(tx, missing)
  return { jobs, drafts, recalled, ended: new Map(endedRows.map(row => [keyText(row), new EndedDraft(row)])) }
}

type Drafts = Map<string, OperationDraft>

/** Writes what changed; answers the keys whose rows were no longer as read. */
async function write(
  tx: Transaction,
  drafts: ReadonlyMap<string, OperationDraft>,
  late: ReadonlyMap<string, EndedDraft>,
  jobs: ReadonlyMap<bigint, JobRules>,
  { now, written, ended }: Batch,
  again: boolean,
): Promise<ReadonlySet<string>> {
  const changed = [...drafts].filter(([, draft]) => draft.changed).sort(inLockOrder)
  const kept = changed.filter(([, draft]) => !draft.end)
  const ends = changed.filter(([, draft]) => draft.end)
  const answeredLate = [...late].filter(([, draft]) => draft.changed).sort(inLockOrder)
  const refused = new Set([...changed, ...answeredLate].map(([text]) => text))
  const deltas = new CounterDeltas()

  const changes = kept.map(([, { before, row }]) => ({ before, after: row }))
  const closing = ends.map(([, { before, row, end }]) => ({
    before,
    after: row,
    organization: jobs.get(row.job)!.organization,
    result: end!.result,
    counter: end!.counter,
    endedAt: now,
  }))
  const answering = answeredLate.map(([, { before, row }]) => ({ before, ...lateOf(row) }))
  // One statement planned by key meets its rows in this order; a second one, or what was refused and comes again, begins anew.
  const locked = again || (kept.length > 0 && ends.length > 0) ? changed.map(([, { row }]) => row) : []
  const [, keptPlaces, endedPlaces, latePlaces] = await Promise.all([
    lockOperations(tx, locked),
    updateOperations(tx, changes),
    endOperations(tx, closing),
    answerLateOperations(tx, answering),
  ])
  const live: OperationDraft[] = []
  for (const place of keptPlaces) {
    const [text, draft] = kept[place]!
    const { before, row } = draft
    refused.delete(text)
    deltas.move(row.job, openCounter(before.status), openCounter(row.status))
    live.push(draft)
    written.push(row)
  }
  for (const place of endedPlaces) {
    const [text, { before, row, end }] = ends[place]!
    refused.delete(text)
    deltas.move(row.job, openCounter(before.status), end!.counter)
    ended.push(text)
  }
  for (const place of latePlaces) {
    const [text, { before, row }] = answeredLate[place]!
    refused.delete(text)
    deltas.move(row.job, before.counter, row.counter)
  }
  const detailed = live.filter(draft => draft.detailChanged).map(draft => draft.row)
  tx.behind(writeDetails(tx, detailed))
  carryOut(tx, live, now)
  tx.behind(writeDeltas(tx, deltas))
  return refused
}

function carryOut(tx: Transaction, drafts: readonly OperationDraft[], now: Date): void {
  const timers: Timer[] = []
  const ready: OperationRow[] = []
  for (const { row, rules, consequences } of drafts) {
    if (consequences.deadline) timers.push({ key: row, dueAt: row.deadlineAt!, duty: 'deadline' })
    const delayed = consequences.retry && rules.retriesDelayMs > 0
    if (delayed) timers.push({ key: row, dueAt: new Date(now.getTime() + rules.retriesDelayMs), duty: 'retry' })
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

type Keyed = readonly [string, { readonly row: OperationKey }]

/** The order in which everybody locks operations: two batches in different orders would wait for each other. */
function inLockOrder([, { row: a }]: Keyed, [, { row: b }]: Keyed): number {
  if (a.job !== b.job) return a.job < b.job ? -1 : 1
  if (a.partition !== b.partition) return a.partition - b.partition
  return a.entity < b.entity ? -1 : 1
}

function openDraft(row: OperationRow, job: JobRules): OperationDraft {
  return new OperationDraft(row, operationRules(job), isCancelling(job.status))
}

function operationRules(job: JobRules): OperationRules {
  return { ...job, retryResults: new Set(job.retryResults) }
}
