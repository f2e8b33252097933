/**
 * Several statements as one exchange with the server: they leave together, and one Sync follows the last, so that the server skips all
 * that stands behind one that fails. Refuses to know what they are.
 */
import pg from 'pg'
import { asked, asking } from './asking.ts'
import type { AtOnce } from './database.ts'
import { valueTypes } from './values.ts'

/** What the driver asks of a query; its types leave most of it out. */
interface DriverQuery {
  name: string
  text: string
  callback: (error: unknown, answers?: pg.QueryResult[]) => void
  submit(connection: DriverConnection): Error | null
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: DriverConnection): void
  handleError(error: unknown, connection: DriverConnection): void
  handleReadyForQuery(connection: DriverConnection): void
}

interface DriverConnection {
  readonly stream: { cork(): void; uncork(): void }
  /** names of which it is not answered yet whether they could be prepared */
  readonly submittedNamedStatements: Record<string, string>
  sync(): void
}

/**
 * Asks all of them at once; answers once the server has gone through all. Fails with the first that fails, behind which none was run: where
 * the first begins a transaction and the last commits it, all of it takes effect or nothing.
 */
export function askAtOnce(client: pg.PoolClient, statements: readonly pg.QueryConfig[]): Promise<pg.QueryResult[]> {
  const answers: pg.QueryResult[] = []
  const parts = statements.map(statement => {
    const config = { ...statement, types: valueTypes, queryMode: 'extended' }
    return new pg.Query(config, (error, answer) => {
      if (error) failure ??= error
      else answers.push(answer as unknown as pg.QueryResult)
    }) as unknown as DriverQuery
  })
  let failure: unknown
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
      for (const part of parts) {
        const refusal = part.submit(withoutSync)
        failure ??= refusal ?? undefined
        // What cannot be bound keeps what follows it, the commit among it, from being sent.
        if (failure !== undefined) break
      }
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
      if (failure === undefined) for (const part of parts) part.handleReadyForQuery(connection)
      if (failure === undefined) whole.callback(null, answers)
      else whole.callback(failure)
    },
  }
  const whole = Object.assign(new pg.Query('') as unknown as DriverQuery, handlers)
  return asked(
    new Promise((resolve, reject) => {
      whole.callback = (error, all) => (error ? reject(error) : resolve(all!))
      client.query(whole as unknown as pg.Submittable)
    }),
  )
}

/**
 * The statements that some work asks, unsent, and what the work itself answers. Their answers never come: whoever asks leaves them behind. Fails
 * as the asking fails.
 */
export async function gathered<T>(
  work: (tx: AtOnce) => T,
  prefix: string,
): Promise<[statements: pg.QueryConfig[], result: T]> {
  const statements: pg.QueryConfig[] = []
  const failures: unknown[] = []
  const result = work({
    ...asking(statement => {
      statements.push(statement)
      return new Promise(() => {})
    }, prefix),
    behind(answer) {
      answer.catch((error: unknown) => {
        failures.push(error)
      })
    },
  })
  // What could not even be asked is known by then.
  await new Promise<void>(resolve => process.nextTick(resolve))
  if (failures.length > 0) throw failures[0]
  return [statements, result]
}

/** A statement of one word. */
export const named = (word: 'begin' | 'commit'): pg.QueryConfig => ({ name: word, text: word })
