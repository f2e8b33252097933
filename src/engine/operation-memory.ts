/**
 * Operations as this node last wrote them, so that a batch need not read what the node has just said itself. It may be out of date:
 * what is decided by it counts only where the guard of the write has found the row so.
 */
import type { OperationRow } from '../store/operations.ts'
import type { Applied } from './operation-transitions.ts'

export interface OperationMemory {
  /** by `keyText` */
  recall(key: string): OperationRow | undefined
  /** Remembers rows as they were committed, and forgets those that have ended. */
  note(committed: Pick<Applied, 'written' | 'ended'>): void
}

/** Some 20 MB at most. */
const ROWS_MAX = 20_000
const CHARACTERS_MAX = 500

/** Keeps the rows written last; one that carries much is read again when it is needed. */
export function createOperationMemory(rowsMax = ROWS_MAX, charactersMax = CHARACTERS_MAX): OperationMemory {
  const rows = new Map<string, OperationRow>()

  return {
    recall: key => rows.get(key),
    note({ written, ended }) {
      for (const key of ended) rows.delete(key)
      for (const { text, row } of written) {
        // To the end of the line, where there is one: only a full memory forgets.
        const light = isLight(row, charactersMax)
        if (!light || rows.size >= rowsMax) rows.delete(text)
        if (light) rows.set(text, row)
      }
      for (const key of rows.keys()) {
        if (rows.size <= rowsMax) break
        rows.delete(key)
      }
    },
  }
}

/** Steps say no more than the messages that they came in, except of earlier attempts. */
function isLight({ messages, attempts, parameters, description }: OperationRow, charactersMax: number): boolean {
  if (attempts !== null || parameters !== null) return false
  const said = (messages ?? []).reduce((sum, { raw }) => sum + raw.length, description?.length ?? 0)
  return said <= charactersMax
}
