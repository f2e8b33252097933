/**
 * Several statements as one exchange with the server: they leave together, and one Sync follows the last, so that the server skips all
 * that stands behind one that fails. Refuses to know what they are.
 */
import pg from 'pg'
import { asked, bound } from './asking.ts'
import type { AtOnce } from './database.ts'
import { valueTypes } from './values.ts'

/** What the driver asks of a query; its types leave most of it out. */
interface DriverQuery {
  name: string
  text: string
  callback: (error: unknown) => void
  submit(connection: DriverConnection): Error | null
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: DriverConnection): void
  handleError(error: unknown, connection: DriverConnection): void
  handleReadyForQuery(connection: DriverConnection): void
}

interface DriverConnection {
  readonly stream: { cork(): void; uncork(): void; destroy(error: Error): void }
  /** names of which it is not answered yet whether they could be prepared */
  readonly submittedNamedStatements: Record<string, string>
  sync(): void
}

/** What is asked, bound already, so that nothing can be found wrong with it once part of it has been sent. */
export interface Bound {
  readonly name: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/**
 * Asks all of them at once; resolved once the server has gone through all. Fails with the first that fails, behind which none was run: where the
 * first begins a transaction and the last commits it, all of it takes effect or nothing. `waitMs`: how long the client itself waits.
 */
export function askAtOnce(client: pg.PoolClient, statements: readonly Bound[], waitMs: number): Promise<void> {
  let failure: unknown
  const parts = statements.map(({ name, text, values }) => {
    const config = { name, text, values: values && [...values], types: valueTypes, queryMode: 'extended' }
    return new pg.Query(config as pg.QueryConfig, (error: Error | undefined) => {
      failure ??= error
    }) as unknown as DriverQuery
  })
  let at = 0

  function goTo(place: number): void {
    at = place
    // The driver notes under them what the server has prepared.
    Object.assign(whole, { name: parts[at]?.name, text: parts[at]?.text })
  }

  const handlers: Omit<DriverQuery, 'name' | 'text' | 'callback'> = {
    submit(connection) {
      const withoutSync: DriverConnection = Object.create(connection, { sync: { value() {} } })
      connection.stream.cork()
      for (const part of parts) failure ??= part.submit(withoutSync) ?? failure
      // Never, of what is bound; what was sent of it must not be committed by whatever comes behind.
      if (failure !== undefined) connection.stream.destroy(failure as Error)
      connection.sync()
      connection.stream.uncork()
      goTo(0)
      return null
    },
    handleRowDescription: message => parts[at]!.handleRowDescription(message),
    handleDataRow: message => parts[at]!.handleDataRow(message),
    handleCommandComplete(message, connection) {
      parts[at]!.handleCommandComplete(message, connection)
      goTo(at + 1)
    },
    handleError(error, connection) {
      for (const { name } of parts.slice(at)) delete connection.submittedNamedStatements[name]
      whole.callback(error)
    },
    handleReadyForQuery(connection) {
      for (const part of parts) part.handleReadyForQuery(connection)
      whole.callback(failure)
    },
  }
  const whole = Object.assign(new pg.Query('') as unknown as DriverQuery, handlers, { query_timeout: waitMs })
  return asked(
    new Promise((resolve, reject) => {
      whole.callback = error => (error ? reject(error) : resolve())
      client.query(whole as unknown as pg.Submittable)
    }),
  )
}

/**
 * The statements that some work asks, unsent, and what the work itself answers. Their answers never come, so whoever asks leaves them behind. Fails
 * as the asking fails.
 */
export async function gathered<T>(work: (tx: AtOnce) => T, prefix: string): Promise<[statements: Bound[], result: T]> {
  const statements: Bound[] = []
  const failures: unknown[] = []
  const result = work({
    run(statement, params) {
      try {
        statements.push(bound(statement, params, prefix))
      } catch (error) {
        failures.push(error)
      }
      return new Promise(() => {})
    },
    behind(answer) {
      answer.catch((error: unknown) => {
        failures.push(error)
      })
    },
  })
  // What failed before it asked anything is told ahead of this.
  await null
  if (failures.length > 0) throw failures[0]
  return [statements, result]
}

/** A statement of one word. */
export const named = (word: 'begin' | 'commit'): Bound => ({ name: word, text: word })
