/**
 * Operations as this node last wrote them, and the rules of their jobs as it last read them, so that a batch need not read what the node
 * knows itself. It may be out of date: what is decided by it counts only where the guard of the write has found it so.
 */
import type { JobRules } from '../store/jobs.ts'
import type { OperationRow } from '../store/operations.ts'
import type { Committed } from './operation-batch.ts'

export interface OperationMemory {
  /** by `keyText` */
  recall(key: string): OperationRow | undefined
  recallRules(job: bigint): JobRules | undefined
  /** Remembers rows as they were committed and rules as they were read, and forgets operations that have ended. */
  note(committed: Committed): void
}

/** Some 20 MB at most. */
const ROWS_MAX = 20_000
const CHARACTERS_MAX = 500
const JOBS_MAX = 2_000

/** Keeps what was noted last; an operation that carries much is read again when it is needed. */
export function createOperationMemory(rowsMax = ROWS_MAX, charactersMax = CHARACTERS_MAX): OperationMemory {
  const rows = new Map<string, OperationRow>()
  const rules = new Map<bigint, JobRules>()

  return {
    recall: key => rows.get(key),
    recallRules: job => rules.get(job),
    note(committed) {
      for (const key of committed.ended) rows.delete(key)
      for (const { text, row } of committed.written) {
        // To the end of the line, where there is one: only a full memory forgets.
        const light = isLight(row, charactersMax)
        if (!light || rows.size >= rowsMax) rows.delete(text)
        if (light) rows.set(text, row)
      }
      for (const each of committed.rules) {
        rules.delete(each.job)
        rules.set(each.job, each)
      }
      forgetOldest(rows, rowsMax)
      forgetOldest(rules, JOBS_MAX)
    },
  }
}

function forgetOldest(memory: Map<unknown, unknown>, most: number): void {
  for (const key of memory.keys()) {
    if (memory.size <= most) break
    memory.delete(key)
  }
}

/** Steps say no more than the messages that they came in, except of earlier attempts. */
function isLight({ messages, attempts, parameters, description }: OperationRow, charactersMax: number): boolean {
  if (attempts !== null || parameters !== null) return false
  const said = (messages ?? []).reduce((sum, { raw }) => sum + raw.length, description?.length ?? 0)
  return said <= charactersMax
}
