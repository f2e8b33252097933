/**
 * The operations of a batch in memory: what happened to each, what each becomes, and what follows once that is written. Refuses to touch
 * the database.
 */
import { openCounter } from '../domain/counters.ts'
import type { OperationKey } from '../domain/identity.ts'
import { isCancelling } from '../domain/job.ts'
import type { OperationRules } from '../domain/operation-event.ts'
import { CounterDeltas } from '../store/counters.ts'
import type { LateAnswer } from '../store/ended-operations.ts'
import type { JobRules } from '../store/jobs.ts'
import {
  inLockOrder,
  keyText,
  type OperationChange,
  type OperationEnd,
  type OperationRow,
} from '../store/operations.ts'
import { type Answer, EndedDraft, type Happening, OperationDraft } from './operation-draft.ts'

/** An open operation as it was written. */
export interface Written {
  readonly row: OperationRow
  /** its `keyText` */
  readonly text: string
}

/** What a transaction did to operations. */
export interface Committed {
  /** open operations as they were written */
  readonly written: readonly Written[]
  /** those that are open no more, by `keyText` */
  readonly ended: readonly string[]
  /** the rules of their jobs by which it was decided */
  readonly rules: readonly JobRules[]
}

/** What came of a batch. */
export interface Applied extends Committed {
  /** by happening, in the order given */
  readonly answers: readonly Answer[]
}

/** An operation of the batch, and how far it has come in a round. */
export interface InBatch {
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

/** The operations that something happened to, by `keyText`. */
export function inBatch(happenings: readonly Happening[]): Map<string, InBatch> {
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

/** What is the same for all operations of a job. */
export interface JobOfBatch {
  readonly rules: JobRules
  readonly operationRules: OperationRules
  readonly isClosing: boolean
}

export function jobOfBatch(rules: JobRules): JobOfBatch {
  const operationRules = { ...rules, retryResults: new Set(rules.retryResults) }
  return { rules, operationRules, isClosing: isCancelling(rules.status) }
}

/** Takes an operation as this row says it is. */
export function openAs(operation: InBatch, row: OperationRow, job: JobOfBatch, isRecalled: boolean): void {
  operation.draft = new OperationDraft(row, job.operationRules, job.isClosing)
  operation.isRecalled = isRecalled
}

/** Takes an operation as one that has ended. */
export function openAsEnded(operation: InBatch, row: EndedDraft['row']): void {
  operation.late = new EndedDraft(row)
}

/** Decides what waits for an operation, answered in `answers`: what follows its end finds it among the ended ones, in the next round. */
export function decide(operation: InBatch, job: JobOfBatch | undefined, now: Date, answers: Answer[]): void {
  const { draft, late, waiting } = operation
  operation.decided = 0
  operation.isSettled = true
  try {
    for (const { happening, index } of waiting) {
      if (draft?.end) break
      answers[index] = draft?.apply(happening, now) ?? late?.apply(happening, job!.operationRules, now) ?? 'unknown'
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

/** What a round writes, each kind in the order in which everybody locks. */
export interface Drafted {
  readonly changed: readonly Open[]
  readonly kept: readonly Open[]
  readonly ends: readonly Open[]
  readonly late: readonly Late[]
}

/** What of the operations has changed; none of it is settled until it is written. */
export function draftedOf(operations: readonly InBatch[]): Drafted {
  const inOrder = (a: InBatch, b: InBatch) => inLockOrder(a.key, b.key)
  const changed = operations.filter((each): each is Open => each.draft?.changed === true).sort(inOrder)
  const late = operations.filter((each): each is Late => each.late?.changed === true).sort(inOrder)
  for (const each of [...changed, ...late]) each.isSettled = false
  const { kept = [], ends = [] } = Object.groupBy(changed, ({ draft }) => (draft.end ? 'ends' : 'kept'))
  return { changed, kept, ends, late }
}

export function changeOf({ draft: { before, row } }: Open): OperationChange {
  return { before, after: row }
}

export function endOf({ draft: { before, row, end } }: Open, job: JobOfBatch, endedAt: Date): OperationEnd {
  return {
    before,
    after: row,
    organization: job.rules.organization,
    result: end!.result,
    counter: end!.counter,
    endedAt,
  }
}

export function lateAnswerOf({ late: { before, row } }: Late): LateAnswer {
  const { status, result, counter, steps, messages, description } = row
  return { before, status, result, counter, steps, messages, description }
}

/** What was written, gathered while it is told; what follows from it. */
export class Outcome {
  readonly deltas = new CounterDeltas()
  readonly live: OperationDraft[] = []
  readonly written: Written[] = []
  readonly ended: string[] = []

  kept(operation: Open): void {
    const { before, row } = operation.draft
    operation.isSettled = true
    this.deltas.move(row.job, openCounter(before.status), openCounter(row.status))
    this.live.push(operation.draft)
    this.written.push({ row, text: operation.text })
  }

  over(operation: Open): void {
    const { before, row, end } = operation.draft
    operation.isSettled = true
    this.deltas.move(row.job, openCounter(before.status), end!.counter)
    this.ended.push(operation.text)
  }

  answeredLate(operation: Late): void {
    const { before, row } = operation.late
    operation.isSettled = true
    this.deltas.move(row.job, before.counter, row.counter)
  }
}
