/**
 * The only way to PostgreSQL: a pool with time-outs on everything, named statements, one wrapper for transactions, notifications
 * and streams. It decides nothing and knows no table; a lost connection is an error to the caller, never the end of the process.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import { pauseAfter } from '../domain/growing-pauses.ts'
import { asked, isUnanswered, onClient, sqlState, transact } from './asking.ts'
import { beginInterrupting, serverProcessOf, whenAborted } from './interrupting.ts'
import { createLine, type Line } from './line.ts'
import { createListener, type NotificationHandler } from './listener.ts'
import { BY_KEY, planByKey } from './plan-by-key.ts'
import type { SqlFragment, Statement } from './statement.ts'
import { bounded, createStreaming, type StreamOptions } from './streaming.ts'
import { valueTypes } from './values.ts'

export { sqlState }

export interface DatabaseOptions {
  url: string
  /** Connections in the pool; the listening connection comes on top. */
  max?: number
  applicationName?: string
  /** A statement that runs longer is cancelled by the server (57014). */
  statementTimeoutMs?: number
  /** A statement that waits longer for a lock is cancelled by the server (55P03). */
  lockTimeoutMs?: number
  /** A transaction idle for longer is ended by the server, so that a stopped process lets go of its locks and holds nobody up for long. */
  idleInTransactionTimeoutMs?: number
  /**
   * A connection that takes nothing more of what the server has for it for longer is ended by the server: a stopped process is in the middle of an
   * answer then, and neither of the times above runs. Over TCP, where the server's system can.
   */
  unreadTimeoutMs?: number
  /** A stream whose reader asks for no further batch for longer ends, and gives its connection back. */
  streamUnaskedMs?: number
  /** How long a close waits for statements under way before they are cancelled. */
  closeGraceMs?: number
  log: Logger
}

/** What can be asked inside or outside a transaction. Each call fails with pg's `DatabaseError` or a connection's error. */
export interface Queryable {
  /** Runs a declared statement, prepared once per connection. */
  run<Row, Params extends readonly unknown[]>(statement: Statement<Row, Params>, params: Params): Promise<Row[]>
  /** Runs a declared statement and answers how many rows it inserted, changed or deleted. */
  count<Row, Params extends readonly unknown[]>(statement: Statement<Row, Params>, params: Params): Promise<number>
  /** Runs composed SQL. */
  query<Row>(fragment: SqlFragment): Promise<Row[]>
}

export interface Transaction extends Queryable {
  /** The shape in which pg-boss takes part in a transaction of its caller. A text of several statements answers the rows of all. */
  executeSql(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
  /**
   * Leaves an answer to the commit, which is sent behind it at once: what it fails with fails the transaction. Its statements must have
   * been asked already, one behind the other, since a transaction that ends takes no more.
   */
  behind(answer: Promise<unknown>): void
}

/** What can be asked in a transaction that is one exchange. Its answers are left behind: none of them comes before the commit. */
export type AtOnce = Pick<Transaction, 'run' | 'behind'>

export interface TransactionOptions {
  /**
   * Once aborted, the statement under way is cancelled, nothing is tried again, and the transaction fails with the signal's reason, unless
   * it is committed by then.
   */
  signal?: AbortSignal
  /** One snapshot for all statements, read only. Default: each statement sees what is committed before it. */
  snapshot?: boolean
  /** How long each statement may run, where that grows with what is stored; the database's own time-out unless told. */
  statementTimeoutMs?: number
  /**
   * Every statement finds its rows by key, one after the other, by a plan made once, whatever the planner believes of the tables of what is
   * under way.
   */
  byKey?: boolean
}

export interface Database extends Queryable {
  /**
   * The same as in a transaction, each call on its own; the shape pg-boss takes as its `db`. Without values the text may hold a whole
   * transaction, so a text that fails ends its connection: it would otherwise come back to the pool inside a failed transaction.
   */
  executeSql(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
  /**
   * Runs `work` in a transaction and commits it. Repeats it on a serialisation failure (40001), a deadlock (40P01) and where the
   * server has ended it for standing idle (25P03), at most ten times with growing jittered pauses, so `work` must have no effect but
   * on the transaction.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** A line of transactions that follow each other without a wait in between, on one connection of the pool while there are any. */
  line(): Line
  /**
   * Calls the handler for every notification on the channel, and once with null after every reconnect. Resolves when the server
   * listens, with a function that ends it.
   */
  listen(channel: string, handler: NotificationHandler): Promise<() => Promise<void>>
  /**
   * All rows of a query, batch by batch, in bounded memory. The server finds them all first and keeps them in a file, so that a
   * slow reader holds one connection but no snapshot. A quarter of the pool may be held so, at least one: the first batch of one more
   * fails with `tooMany`. A reader that stops reading loses its connection, and the next batch fails.
   */
  stream<Row>(fragment: SqlFragment, options?: StreamOptions): AsyncGenerator<Row[], void, void>
  /** Waits for what is under way, then ends every connection; cancels what takes longer than `closeGraceMs`. Idempotent. */
  close(): Promise<void>
}

const tries = 10
const PAUSES = { firstPauseMs: 10, longestPauseMs: 500 }

/**
 * What the server says when it can take nothing now, whatever is asked of it: connections (08), resources such as the disk (53), locks
 * and time (55P03, 57014), its stop (57P), the disk again (58), a standby (25006), and what was repeated in vain (40, 25P03).
 */
const cannotNow = /^(08|53|58|57P|55P03|57014|25006|25P03|40)/

/** Whether an error tells of a database that is away, full or overrun, and not of what was asked: it is worth asking again later. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error)
  return state === null ? isUnanswered(error) : cannotNow.test(state)
}

/** True for what a repeat of the whole transaction can mend. */
export function isRepeatable(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01' || state === '25P03'
}

/** True when the connection is no longer to be trusted: the error came from the socket, or the server ended the session. */
function breaksConnection(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || error.severity === 'FATAL' || error.severity === 'PANIC'
}

/** Opens a pool. No connection is made yet: the first call meets a wrong address. */
export function openDatabase(options: DatabaseOptions): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? 30_000
  const connectionConfig: pg.ClientConfig = {
    connectionString: options.url,
    application_name: options.applicationName ?? 'drover',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // Statements here are short: compiling them costs more than it saves.
    options: `-c timezone=UTC -c jit=off -c tcp_user_timeout=${options.unreadTimeoutMs ?? 5_000}`,
    types: valueTypes,
    pipeline: true,
    statement_timeout: statementTimeoutMs,
    lock_timeout: options.lockTimeoutMs ?? 10_000,
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs ?? 3_000,
  }
  const max = options.max ?? 10
  let closed: Promise<void> | null = null
  const pool = new pg.Pool({
    ...connectionConfig,
    max,
    // A new connection costs both sides more than a minute of keeping it: a handshake, a process, every statement prepared again.
    idleTimeoutMillis: 300_000,
    // A server that answers nothing at all cannot time out its statements: the client gives up a little later.
    query_timeout: statementTimeoutMs + 5_000,
  })
  const logLost = (error: unknown) => {
    // A connection that is being ended is still open for a moment, in which the server may end it first.
    if (closed === null) options.log.warn({ err: error }, 'a database connection was lost')
  }
  pool.on('error', logLost)
  // The pool's own handler is off while a client is in use; without this one a cut connection would end the process.
  pool.on('connect', client => client.on('error', logLost))
  const inUse = new Set<pg.PoolClient>()
  pool.on('acquire', client => inUse.add(client))
  pool.on('release', (_error, client) => inUse.delete(client))
  const listener = createListener(connectionConfig, options.log)

  async function withClient<T>(
    work: (client: pg.PoolClient) => Promise<T>,
    isBroken: (error: unknown) => boolean = breaksConnection,
  ): Promise<T> {
    const client = await asked(pool.connect())
    let broken = false
    try {
      return await work(client)
    } catch (error) {
      broken = isBroken(error)
      throw error
    } finally {
      client.release(broken)
    }
  }

  async function once<T>(
    work: (tx: Transaction) => Promise<T>,
    begin: string,
    { statementTimeoutMs: timeoutMs, byKey = false, signal }: TransactionOptions,
  ): Promise<T> {
    const client = await asked(pool.connect())
    const interruption = whenAborted(signal, () =>
      beginInterrupting(connectionConfig, () => [serverProcessOf(client)], options.log),
    )
    let broken = true
    let farewell: unknown
    const noteFarewell = (error: unknown) => {
      farewell ??= error
    }
    client.on('error', noteFarewell)
    try {
      const settings = [
        begin,
        ...(timeoutMs === undefined ? [] : [`set local statement_timeout = ${Math.trunc(timeoutMs)}`]),
        ...(byKey ? [planByKey] : []),
      ]
      return await transact(client, settings.join('; '), work, {
        waitMs: timeoutMs === undefined ? undefined : timeoutMs + 5_000,
        prefix: byKey ? BY_KEY : '',
        onEnd() {
          broken = false
        },
      })
    } catch (error) {
      await interruption.over()
      if (broken)
        broken = await client.query(bounded('rollback', 5_000)).then(
          () => false,
          () => true,
        )
      // What the server said when it ended the session tells more than that nothing can be asked any more.
      throw sqlState(farewell) === null ? error : farewell
    } finally {
      // Whoever has the connection next is not to be interrupted.
      await interruption.over()
      client.off('error', noteFarewell)
      client.release(broken)
    }
  }

  async function transaction<T>(work: (tx: Transaction) => Promise<T>, told: TransactionOptions = {}): Promise<T> {
    const { signal, snapshot } = told
    const begin = snapshot ? 'begin isolation level repeatable read read only' : 'begin'
    for (let tried = 1; ; tried++) {
      signal?.throwIfAborted()
      try {
        return await once(work, begin, told)
      } catch (error) {
        signal?.throwIfAborted()
        if (tried === tries || !isRepeatable(error)) throw error
        options.log.debug({ err: error, tried }, 'a transaction is repeated')
      }
      const pauseMs = pauseAfter(tried - 1, PAUSES) * Math.random()
      await sleep(pauseMs, undefined, signal ? { signal } : {}).catch(() => {})
    }
  }

  async function closeAll(): Promise<void> {
    let over = async () => {}
    const late = setTimeout(() => {
      over = beginInterrupting(connectionConfig, () => [...inUse].map(serverProcessOf), options.log)
    }, options.closeGraceMs ?? 5_000)
    try {
      await Promise.all([listener.close(), pool.end()])
    } finally {
      clearTimeout(late)
      await over()
    }
  }

  return {
    run: (statement, params) => withClient(client => onClient(client).run(statement, params)),
    count: (statement, params) => withClient(client => onClient(client).count(statement, params)),
    query: fragment => withClient(client => onClient(client).query(fragment)),
    executeSql: (text, values) =>
      withClient(
        client => onClient(client).executeSql(text, values),
        error => values === undefined || breaksConnection(error),
      ),
    transaction,
    line: () => createLine(() => asked(pool.connect()), 4 * (statementTimeoutMs + 5_000)),
    listen: listener.listen,
    stream: createStreaming(pool, {
      atOnceMax: Math.max(1, Math.floor(max / 4)),
      unaskedMs: options.streamUnaskedMs ?? 30_000,
    }),
    close() {
      closed ??= closeAll()
      return closed
    },
  }
}
