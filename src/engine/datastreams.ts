/**
 * Remembers which ids organizations use beside the data model, asking the database only for what this process has not seen yet.
 */
import { dataModelEntry } from '../domain/data-model.ts'
import type { Database } from '../store/database.ts'
import { rememberDatastreams } from '../store/datastreams.ts'

/** Ids that one process keeps in mind; beyond, it begins anew. */
const MINDED_MAX = 100_000

export interface Datastreams {
  /** Resolves when every id is one that the filters of its organization know. */
  remember(ids: Iterable<{ readonly organization: number; readonly id: string }>): Promise<void>
}

export function createDatastreams(database: Database): Datastreams {
  const minded = new Set<string>()
  return {
    async remember(ids) {
      const fresh = new Map<string, { readonly organization: number; readonly id: string }>()
      for (const each of ids) {
        const key = `${each.organization}/${each.id}`
        if (!minded.has(key) && dataModelEntry(each.id) === undefined) fresh.set(key, each)
      }
      if (fresh.size === 0) return
      await rememberDatastreams(database, [...fresh.values()])
      if (minded.size + fresh.size > MINDED_MAX) minded.clear()
      for (const key of fresh.keys()) minded.add(key)
    },
  }
}
