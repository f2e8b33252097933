/** Which failures of a batch lie with something in it, so that the rest of it can be done without. Knows no batch. */
import { MissingLifecycleRow } from '../domain/operation.ts'
import { sqlState } from '../store/database.ts'
import { FAILED_UNLESS } from '../store/statement.ts'

/** Data exceptions (class 22) and limits of the server (54) lie with what was to be written; everything else lies with us or the database. */
export function isFaultOfContent(error: unknown): boolean {
  return /^(22|54)/.test(sqlState(error) ?? '')
}

/** Whether a batch failed by one of its items: it cannot be written, or nothing says what becomes of it. */
export function isFaultOfItem(error: unknown): boolean {
  return isFaultOfContent(error) || error instanceof MissingLifecycleRow
}

/** Whether a transaction has undone itself since something was not as it was taken for. */
export function wasOtherwise(error: unknown): boolean {
  return sqlState(error) === FAILED_UNLESS
}
