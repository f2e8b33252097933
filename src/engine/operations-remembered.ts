/**
 * Applies what happened to operations that this node remembers, in one exchange with the database: nothing is read, everything is decided by
 * memory, and the write undoes itself where anything is not as remembered. Refuses to read.
 */
import { isRepeatable, sqlState } from '../store/database.ts'
import { assertRules } from '../store/jobs.ts'
import type { Line } from '../store/line.ts'
import { isFaultOfContent, wasOtherwise } from './batch-faults.ts'
import { type Applied, decide, type InBatch, inBatch, type JobOfBatch, jobOfBatch, openAs } from './operation-batch.ts'
import type { Answer, Happening } from './operation-draft.ts'
import type { OperationMemory } from './operation-memory.ts'
import { writeAll } from './operation-writing.ts'

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
    return { ...untouched, wasWrong: wasOtherwise(error) }
  }
}

/** Whether reading finds out which item it is, or gets by: something was otherwise, or a transaction was in the way or in front of this one. */
function isUndone(error: unknown): boolean {
  return isFaultOfContent(error) || isRepeatable(error) || sqlState(error) === '25P02'
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
