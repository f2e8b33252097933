/**
 * The audit log: who did what, when, from where, and how it ended. Lines of many requests are written together; each is kept before
 * its answer goes out.
 */

import { type AuditEntry, insertAudit } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import { gathered } from './gathering.ts'

export interface Audit {
  /** Resolves once the line is kept. */
  record(entry: Omit<AuditEntry, 'at'>): Promise<void>
}

const GATHER_MS = 2

export function createAudit({ database, now }: { readonly database: Database; readonly now: () => Date }): Audit {
  const write = gathered(
    async (entries: readonly AuditEntry[]) => {
      await insertAudit(database, entries)
      return entries.map(() => undefined)
    },
    { gatherMs: GATHER_MS },
  )
  return { record: async entry => write({ ...entry, at: now() }) }
}
