/**
 * What has been told of an operation, and how it lies in its row: written with the transition that it came with, and only where it is new.
 * Refuses to know what the words mean.
 */
import type { KeptMessage } from '../domain/kept-message.ts'
import type { OperationResult } from '../domain/operation.ts'
import type { Step } from '../domain/step.ts'

/** What an earlier attempt saw. Instants ISO 8601 UTC. */
export interface PastAttempt {
  readonly attempt: number
  readonly startedAt: string
  readonly endedAt: string
  readonly result: OperationResult
  readonly description?: string
  readonly steps: readonly Step[]
}

/** What has been told of an operation; null where there is nothing. */
export interface OperationWords {
  steps: Step[] | null
  attempts: PastAttempt[] | null
  messages: KeptMessage[] | null
  description: string | null
}

/**
 * What was told, by the rows that may hold it: the first that says anything says it all. An operation that was told of by a build before
 * migration 0023 has it in `operation_detail`. What was taken back is kept as empty there, where nothing would let the next row speak.
 */
export function wordsSql(column: keyof OperationWords, ...rows: readonly string[]): string {
  const first = `coalesce(${rows.map(row => `${row}.${column}`).join(', ')})`
  return `nullif(${first}, ${column === 'description' ? "''" : "'[]'"})`
}

/** Words as they are written, by column: steps, attempts, messages, description. One that is as it was is null; a column of these, empty. */
export type NewWords = [(string | null)[], (string | null)[], (string | null)[], (string | null)[]]

/** What of the words of rows has become new: what is as it was is neither sent nor read again. */
export function newWords(
  changes: readonly { readonly before: OperationWords; readonly after: OperationWords }[],
): NewWords {
  const column = (name: keyof OperationWords, write: (words: OperationWords) => string) => {
    if (changes.every(({ before, after }) => before[name] === after[name])) return []
    return changes.map(({ before, after }) => (before[name] === after[name] ? null : write(after)))
  }
  return [
    column('steps', ({ steps }) => JSON.stringify(steps ?? [])),
    column('attempts', ({ attempts }) => JSON.stringify(attempts ?? [])),
    column('messages', ({ messages }) => JSON.stringify(messages ?? [])),
    column('description', ({ description }) => description ?? ''),
  ]
}
