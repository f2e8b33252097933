/** What the engine tells whoever counts its work. Counting changes nothing, and an engine that nobody observes works the same. */
import type { Happening } from './operation-draft.ts'

export interface EngineObserver {
  /** A run of a loop has ended. */
  ran(loop: string, failed: boolean): void
  /** A gathered batch is committed. */
  applied(happenings: readonly Happening[]): void
}

/** For an engine that nobody observes. */
export const unobserved: EngineObserver = { ran: () => {}, applied: () => {} }
