/**
 * How one connection is asked: statements are sent as soon as they are known, without waiting for the answers of those before, and
 * answered in order. Inside a transaction nothing is written before its begin is answered, nor sent behind its commit. Refuses to know
 * the pool, and to repeat.
 */
import pg from 'pg'
import { bindable } from './array-parameters.ts'
import type { Transaction } from './database.ts'
import { render, type SqlFragment, type Statement } from './statement.ts'

/** The SQLSTATE of a server's refusal (`23505`, `40P01`, …), or null for any other error, a lost connection among them. */
export function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null
}

/** Errors of connections that could not be had, or were lost before the server answered. */
const unanswered = new WeakSet<object>()

/** The same promise; what it fails with is remembered where the server did not say it. */
export function asked<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    if (error instanceof Error && !(error instanceof pg.DatabaseError)) unanswered.add(error)
    throw error
  })
}

/** Whether a call failed without a word of the server. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && unanswered.has(error)
}

/** What is asked in one go leaves in one go: each write of its own would wake the server, and cost both sides more than its bytes. */
function gatherWrites({ connection: { stream } }: pg.PoolClient): void {
  if (stream.writableCorked > 0 || stream.destroyed) return
  stream.cork()
  queueMicrotask(() => stream.uncork())
}

type Asking = Omit<Transaction, 'behind'>

/** A declared statement with its parameters as they are sent. `prefix` tells statements with a plan of their own from the same ones planned otherwise. */
export function bound<Row, Params extends readonly unknown[]>(
  { name, text, elementTypes }: Statement<Row, Params>,
  params: Params,
  prefix: string,
): { name: string; text: string; values: unknown[] } {
  return { name: prefix + name, text, values: params.map((value, i) => bindable(value, elementTypes[i])) }
}

/** `waitMs`: how long the client itself waits for an answer, where that is not the pool's time. `prefix` is that of `bound`. */
export function onClient(client: pg.PoolClient, waitMs?: number, prefix = '', inTurn: InTurn = send => send()): Asking {
  const patience = waitMs === undefined ? {} : { query_timeout: waitMs }
  function send<Row>(config: pg.QueryConfig): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
    return inTurn(() => {
      gatherWrites(client)
      return asked(client.query<Row & pg.QueryResultRow>({ ...config, ...patience }))
    }, config.text)
  }
  return {
    async run<Row, Params extends readonly unknown[]>(statement: Statement<Row, Params>, params: Params) {
      return (await send<Row>(bound(statement, params, prefix))).rows
    },
    async count(statement, params) {
      return (await send(bound(statement, params, prefix))).rowCount ?? 0
    },
    async query<Row>(fragment: SqlFragment) {
      return (await send<Row>(render(fragment))).rows
    },
    async executeSql(text, values) {
      const answer = await inTurn(() => asked(client.query(text, values)), text)
      const answers: pg.QueryResult<Record<string, unknown>>[] = [answer].flat()
      return { rows: answers.flatMap(({ rows }) => rows) }
    },
  }
}

/** Sends now, or when its turn comes. */
type InTurn = <T>(send: () => Promise<T>, text: string) => Promise<T>

const reads = /^\s*select\b/i

/**
 * Does some work in a transaction of this client and commits it. `onEnd` is told once the server has answered the commit: from then on
 * the connection is as it was before.
 */
export async function transact<T>(
  client: pg.PoolClient,
  begin: string,
  work: (tx: Transaction) => Promise<T>,
  { waitMs, prefix, onEnd }: { waitMs?: number | undefined; prefix: string; onEnd: () => void },
): Promise<T> {
  let begun = false
  let isReading = true
  let isEnding = false
  const behind: Promise<void>[] = []
  const failures: unknown[] = []
  gatherWrites(client)
  const beginning = asked<unknown>(client.query(begin)).then(() => {
    begun = true
  })
  beginning.catch(() => {})

  /** What is only read may be asked behind the begin: should that fail, it has been read in vain. */
  async function inTurn<A>(send: () => Promise<A>, text: string): Promise<A> {
    if (isEnding) throw new Error('asked in a transaction that is ending')
    if (begun) return await send()
    isReading &&= reads.test(text)
    if (isReading) return (await Promise.all([send(), beginning]))[0]
    await beginning
    return await send()
  }

  const tx: Transaction = {
    ...onClient(client, waitMs, prefix, inTurn),
    behind(answer) {
      behind.push(
        answer.then(
          () => {},
          (error: unknown) => {
            failures.push(error)
          },
        ),
      )
    },
  }
  try {
    const result = await work(tx)
    await beginning
    isEnding = true
    // What could not even be sent is known by then; the server would commit without it.
    await new Promise<void>(resolve => process.nextTick(resolve))
    if (failures.length > 0) throw failures[0]
    const commit = asked(client.query('commit'))
    commit.catch(() => {})
    await Promise.all(behind)
    if (failures.length > 0) throw firstOf(failures)
    const { command } = await commit
    onEnd()
    // The server answers the commit of a failed transaction with a rollback, silently.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: an error inside it was swallowed')
    return result
  } catch (error) {
    isEnding = true
    await Promise.all(behind)
    throw firstOf([error, ...failures])
  }
}

/** What comes after a failure is only told that something failed. */
function firstOf(failures: readonly unknown[]): unknown {
  return failures.find(error => sqlState(error) !== '25P02') ?? failures[0]
}
