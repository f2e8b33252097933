/**
 * Applies what happened to operations that this node remembers, in one exchange with the database: nothing is read, everything is decided by
 * memory, and the write undoes itself where anything is not as remembered. Refuses to read.
 */
import { type AtOnce, isRepeatable, sqlState } from '../store/database.ts'
import { assertRules } from '../store/jobs.ts'
import type { Line } from '../store/line.ts'
import { endAllOperations, lockOperations, updateAllOperations } from '../store/operations.ts'
import { isFaultOfContent } from './batch-faults.ts'
import {
  type Applied,
  type Committed,
  changeOf,
  decide,
  draftedOf,
  endOf,
  type InBatch,
  inBatch,
  type JobOfBatch,
  jobOfBatch,
  Outcome,
  openAs,
} from './operation-batch.ts'
import { carryOut } from './operation-consequences.ts'
import type { Answer, Happening } from './operation-draft.ts'
import type { OperationMemory } from './operation-memory.ts'

/** What came of a batch. */
export interface Remembered {
  /** null where nothing was written */
  readonly applied: Applied | null
  /** places of the happenings to which nothing was done yet */
  readonly left: readonly number[]
  /** whether something was not as remembered */
  readonly wasWrong: boolean
}

/** A batch less of which is remembered is read as a whole: two transactions cost more than one. */
const LEAST_PART = 0.5

/**
 * Applies what it can tell of: all that happened to an operation, or nothing of it. Fails as the database fails where that says nothing of
 * what was asked; else nothing was written, and everything is left.
 */
export async function applyRemembered(
  line: Line,
  happenings: readonly Happening[],
  now: Date,
  memory: Pick<OperationMemory, 'recall' | 'recallRules'>,
): Promise<Remembered> {
  const untouched = { applied: null, left: happenings.map((_, place) => place), wasWrong: false }
  const jobs = jobsOf(happenings, memory)
  const answers: Answer[] = new Array(happenings.length)
  const sure: InBatch[] = []
  const left: number[] = []
  for (const operation of inBatch(happenings).values()) {
    const job = jobs.get(operation.key.job)
    const row = job && memory.recall(operation.text)
    if (row) {
      openAs(operation, row, job, true)
      decide(operation, job, now, answers)
    }
    if (operation.isSettled && operation.decided === operation.waiting.length) sure.push(operation)
    else for (const { index } of operation.waiting) left.push(index)
  }
  if (left.length > happenings.length * (1 - LEAST_PART)) return untouched
  for (const place of left) delete answers[place]

  const rules = [...new Set(sure.map(({ key }) => jobs.get(key.job)!.rules))]
  try {
    const written = await line.atOnce(tx => {
      tx.behind(assertRules(tx, rules))
      return writeAll(tx, sure, jobs, now)
    })
    return { applied: { answers, rules, ...written }, left, wasWrong: false }
  } catch (error) {
    if (!isUndone(error)) throw error
    return { ...untouched, wasWrong: true }
  }
}

/** Whether reading finds out which item it is, or gets by: something was otherwise, or a transaction was in the way or in front of this one. */
function isUndone(error: unknown): boolean {
  return isFaultOfContent(error) || isRepeatable(error) || sqlState(error) === '25P02'
}

/** Writes what was decided, and leaves to the commit whether everything was still as it was taken for: else the transaction is undone. */
export function writeAll(
  tx: AtOnce,
  operations: readonly InBatch[],
  jobs: ReadonlyMap<bigint, JobOfBatch>,
  now: Date,
): Pick<Committed, 'written' | 'ended'> {
  const { changed, kept, ends } = draftedOf(operations)
  // One statement planned by key meets its rows in order; two do not.
  if (kept.length > 0 && ends.length > 0)
    tx.behind(
      lockOperations(
        tx,
        changed.map(({ key }) => key),
      ),
    )
  tx.behind(updateAllOperations(tx, kept.map(changeOf)))
  const closing = ends.map(each => endOf(each, jobs.get(each.key.job)!, now))
  tx.behind(endAllOperations(tx, closing))
  const outcome = new Outcome()
  for (const each of kept) outcome.kept(each)
  for (const each of ends) outcome.over(each)
  carryOut(tx, outcome, now)
  return { written: outcome.written, ended: outcome.ended }
}

/** The jobs whose rules are remembered. */
function jobsOf(
  happenings: readonly Happening[],
  memory: Pick<OperationMemory, 'recallRules'>,
): Map<bigint, JobOfBatch> {
  const jobs = new Map<bigint, JobOfBatch>()
  for (const job of new Set(happenings.map(({ key }) => key.job))) {
    const rules = memory.recallRules(job)
    if (rules) jobs.set(job, jobOfBatch(rules))
  }
  return jobs
}
