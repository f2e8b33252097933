/**
 * A database as a process that may die at any moment sees it: the decorator counts what is under way, and can end the process at a
 * named point, before or after a commit, from which on nothing answers it any more. The database itself lives on.
 */
import type { Database } from '../../src/store/database.ts'

/** Where a process dies: at its nth commit from now (from 1), just before it or just after it. */
export interface DeathPoint {
  readonly commit: number
  readonly when: 'before' | 'after'
}

export interface MortalDatabase extends Database {
  /** Calls that have not been answered yet. */
  underWay(): number
  /** Ends the process at a point to come; null takes that back. */
  dieAt(point: DeathPoint | null): void
  /** Ends the process now. */
  die(): void
  isDead(): boolean
  /** Has the next transaction fail with an error, before its commit. */
  failNext(error: Error): void
}

/** What a dead process's calls fail with: it stands for no answer at all. */
export class ProcessDied extends Error {
  override readonly name = 'ProcessDied'
}

export function mortal(database: Database): MortalDatabase {
  let under = 0
  let dead = false
  let point: DeathPoint | null = null
  let commits = 0
  let failure: Error | null = null

  function isPoint(when: DeathPoint['when']): boolean {
    if (point?.commit !== commits || point.when !== when) return false
    dead = true
    return true
  }

  function failIfAsked(): void {
    const error = failure
    failure = null
    if (error) throw error
  }

  async function call<T>(work: (beforeCommit: () => void) => Promise<T>): Promise<T> {
    if (dead) throw new ProcessDied()
    under += 1
    try {
      const result = await work(() => {
        commits += 1
        if (isPoint('before') || dead) throw new ProcessDied()
      })
      if (isPoint('after') || dead) throw new ProcessDied()
      return result
    } finally {
      under -= 1
    }
  }

  return {
    ...database,
    run: (statement, params) =>
      call(async beforeCommit => {
        beforeCommit()
        return await database.run(statement, params)
      }),
    count: (statement, params) => call(() => database.count(statement, params)),
    query: fragment => call(() => database.query(fragment)),
    executeSql: (text, values) => call(() => database.executeSql(text, values)),
    transaction: (work, options) =>
      call(beforeCommit =>
        database.transaction(async tx => {
          const result = await work(tx)
          beforeCommit()
          failIfAsked()
          return result
        }, options),
      ),
    underWay: () => under,
    dieAt(next) {
      point = next
      commits = 0
    },
    die() {
      dead = true
    },
    isDead: () => dead,
    failNext(error) {
      failure = error
    },
  }
}
