/**
 * A database as a process that may die at any moment sees it: the decorator counts what is under way, and can end the process at a
 * named point, before or after a commit, from which on nothing answers it any more. The database itself lives on.
 */
import type { AtOnce, Database, Transaction } from '../../src/store/database.ts'
import { statements } from '../../src/store/statement.ts'

/** Where a process dies: at the next commit of a transaction in which a statement ran, just before it or just after it. */
export interface DeathPoint {
  readonly statement: string
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
  let failure: Error | null = null

  function isPoint(when: DeathPoint['when'], ran: ReadonlySet<string>): boolean {
    if (point === null || point.when !== when || !ran.has(point.statement)) return false
    dead = true
    return true
  }

  /** The same transaction; the names of its statements are noted. */
  function noting(tx: Transaction, ran: Set<string>): Transaction {
    return {
      ...tx,
      ...notingRuns(tx, ran),
      count(statement, params) {
        ran.add(statement.name)
        return tx.count(statement, params)
      },
    }
  }

  function notingRuns(tx: AtOnce, ran: Set<string>): AtOnce {
    return {
      ...tx,
      run(statement, params) {
        ran.add(statement.name)
        return tx.run(statement, params)
      },
    }
  }

  function failIfAsked(): void {
    const error = failure
    failure = null
    if (error) throw error
  }

  async function call<T>(
    work: (beforeCommit: () => void) => Promise<T>,
    ran: ReadonlySet<string> = new Set(),
  ): Promise<T> {
    if (dead) throw new ProcessDied()
    under += 1
    try {
      const result = await work(() => {
        if (isPoint('before', ran) || dead) throw new ProcessDied()
      })
      if (isPoint('after', ran) || dead) throw new ProcessDied()
      return result
    } finally {
      under -= 1
    }
  }

  return {
    ...database,
    run: (statement, params) =>
      call(
        async beforeCommit => {
          beforeCommit()
          return await database.run(statement, params)
        },
        new Set([statement.name]),
      ),
    count: (statement, params) => call(() => database.count(statement, params)),
    query: fragment => call(() => database.query(fragment)),
    executeSql: (text, values) => call(() => database.executeSql(text, values)),
    transaction(work, options) {
      const ran = new Set<string>()
      return call(
        beforeCommit =>
          database.transaction(async tx => {
            const result = await work(noting(tx, ran))
            beforeCommit()
            failIfAsked()
            return result
          }, options),
        ran,
      )
    },
    line() {
      const line = database.line()
      return {
        atOnce(work) {
          const ran = new Set<string>()
          return call(
            beforeCommit =>
              line.atOnce(tx => {
                const result = work(notingRuns(tx, ran))
                beforeCommit()
                failIfAsked()
                return result
              }),
            ran,
          )
        },
      }
    },
    underWay: () => under,
    dieAt(next) {
      if (next && !statements.some(({ name }) => name === next.statement)) {
        throw new Error(`no process can die at ${next.statement}: there is no such statement`)
      }
      point = next
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
