/**
 * Applies what happened to a batch of operations in one transaction: reads their rows, decides each one's happenings in order,
 * and writes one net row per operation and one net delta per job, guarded by what was read. Refuses to know where a happening
 * came from.
 */
import { openCounter } from '../domain/counters.ts'
import type { OperationKey } from '../domain/identity.ts'
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
  type OperationRow,
  readOpenOperations,
  updateOperations,
  writeDetails,
} from '../store/operations.ts'
import { type Answer, EndedDraft, type Happening, OperationDraft } from './operation-draft.ts'

/** What came of a batch. */
export interface Applied {
  /** by happening, in the order given */
  readonly answers: readonly Answer[]
  /** open operations as they were written */
  readonly written: readonly OperationRow[]
}

/** Happenings of one operation still to be applied, in order. */
interface Queue {
  readonly key: OperationKey
  waiting: { readonly happening: Happening; readonly index: number }[]
}

/** More rounds than an operation can be moved by others within one transaction. */
const ROUNDS_MAX = 50

/**
 * Applies happenings, those of one operation in the order given. An operation that somebody else moved meanwhile is read and
 * decided again, so that every happening gets its answer. `read` are the rows where the caller has just read them. Fails as the database fails, and where the lifecycle has no row.
 */
export async function applyHappenings(
  tx: Transaction,
  happenings: readonly Happening[],
  now: Date,
  read?: readonly OperationRow[],
): Promise<Applied> {
  const answers: Answer[] = new Array(happenings.length)
  const written: OperationRow[] = []
  const queues = new Map<string, Queue>()
  happenings.forEach((happening, index) => {
    const text = keyText(happening.key)
    const queue = queues.get(text) ?? { key: happening.key, waiting: [] }
    queue.waiting.push({ happening, index })
    queues.set(text, queue)
  })
  const jobs = await readJobRules(tx, [...new Set(happenings.map(({ key }) => key.job))])
  for (let round = 0; queues.size > 0; round += 1) {
    if (round === ROUNDS_MAX) throw new Error(`${queues.size} operations kept moving for ${ROUNDS_MAX} rounds`)
    await applyRound(tx, queues, jobs, now, answers, written, round === 0 ? read : undefined)
  }
  return { answers, written }
}

async function applyRound(
  tx: Transaction,
  queues: Map<string, Queue>,
  jobs: ReadonlyMap<bigint, JobRules>,
  now: Date,
  answers: Answer[],
  written: OperationRow[],
  read: readonly OperationRow[] | undefined,
): Promise<void> {
  const keys = [...queues.values()].map(queue => queue.key)
  const open = read ?? (await readOpenOperations(tx, keys))
  const drafts = new Map<string, OperationDraft>()
  for (const row of open) drafts.set(keyText(row), openDraft(row, jobs.get(row.job)!))
  const missing = drafts.size === keys.length ? [] : keys.filter(key => !drafts.has(keyText(key)))
  const endedRows = missing.length === 0 ? [] : await readEndedOperations(tx, missing)
  const ended = new Map(endedRows.map(row => [keyText(row), new EndedDraft(row)]))

  const done = new Map<string, number>()
  for (const [text, queue] of queues) {
    const draft = drafts.get(text)
    const late = ended.get(text)
    let count = 0
    // What follows an end finds the operation among the ended ones, in the next round.
    for (const { happening, index } of queue.waiting) {
      if (draft?.end) break
      answers[index] = draft
        ? draft.apply(happening, now)
        : (late?.apply(happening, operationRules(jobs.get(queue.key.job)!), now) ?? 'unknown')
      count += 1
    }
    done.set(text, count)
  }

  const refused = await write(tx, [...drafts.values()], [...ended.values()], jobs, now, written)
  for (const [text, count] of done) {
    if (refused.has(text)) continue
    const queue = queues.get(text)!
    queue.waiting = queue.waiting.slice(count)
    if (queue.waiting.length === 0) queues.delete(text)
  }
}

/** Writes what changed; answers the keys whose rows were no longer as read. */
async function write(
  tx: Transaction,
  drafts: readonly OperationDraft[],
  late: readonly EndedDraft[],
  jobs: ReadonlyMap<bigint, JobRules>,
  now: Date,
  written: OperationRow[],
): Promise<ReadonlySet<string>> {
  const changed = drafts.filter(draft => draft.changed)
  const kept = changed.filter(draft => !draft.end)
  const ends = changed.filter(draft => draft.end)
  const answeredLate = late.filter(draft => draft.changed)
  const applied = new Set(
    [
      ...(await updateOperations(
        tx,
        kept.map(({ before, row }) => ({ before, after: row })),
      )),
      ...(await endOperations(
        tx,
        ends.map(({ before, row, end }) => ({
          before,
          after: row,
          organization: jobs.get(row.job)!.organization,
          result: end!.result,
          counter: end!.counter,
          endedAt: now,
        })),
      )),
      ...(await answerLateOperations(
        tx,
        answeredLate.map(({ before, row }) => ({ before, ...lateOf(row) })),
      )),
    ].map(keyText),
  )
  const refused = new Set<string>()
  for (const { before } of [...changed, ...answeredLate])
    if (!applied.has(keyText(before))) refused.add(keyText(before))

  const live = kept.filter(({ row }) => applied.has(keyText(row)))
  await writeDetails(
    tx,
    live.filter(draft => draft.detailChanged).map(draft => draft.row),
  )
  await carryOut(tx, live, now)
  const deltas = new CounterDeltas()
  for (const { before, row, end } of changed) {
    if (!applied.has(keyText(row))) continue
    deltas.move(row.job, openCounter(before.status), end ? end.counter : openCounter(row.status))
  }
  for (const { before, row } of answeredLate) {
    if (applied.has(keyText(row))) deltas.move(row.job, before.counter, row.counter)
  }
  await writeDeltas(tx, deltas)
  for (const { row } of live) written.push(row)
  return refused
}

async function carryOut(tx: Transaction, drafts: readonly OperationDraft[], now: Date): Promise<void> {
  const timers: Timer[] = []
  const ready: OperationRow[] = []
  for (const { row, rules, consequences } of drafts) {
    if (consequences.deadline) timers.push({ key: row, dueAt: row.deadlineAt!, duty: 'deadline' })
    const delayed = consequences.retry && rules.retriesDelayMs > 0
    if (delayed) timers.push({ key: row, dueAt: new Date(now.getTime() + rules.retriesDelayMs), duty: 'retry' })
    else if (consequences.retry || consequences.enqueue) ready.push(row)
  }
  await armTimers(tx, timers)
  await enqueueReady(
    tx,
    ready.map(({ job, partition, entity }) => ({ job, partition, entity, place: FIRST_PLACE })),
  )
}

const lateOf = ({ status, result, counter, steps, messages, description }: EndedDraft['row']) => ({
  status,
  result,
  counter,
  steps,
  messages,
  description,
})

function openDraft(row: OperationRow, job: JobRules): OperationDraft {
  return new OperationDraft(row, operationRules(job), job.status.startsWith('CANCELLING'))
}

function operationRules(job: JobRules): OperationRules {
  return { ...job, retryResults: new Set(job.retryResults) }
}
