/**
 * Whether the regular expressions of a filter can be read, which nobody but PostgreSQL knows. Refuses to look for anything with them.
 * Serves: Target (`filter`), Job and operation search.
 */
import { DroverError } from '../domain/errors.ts'
import { type Filter, filterPatterns } from '../domain/filter.ts'
import { sqlState, type Transaction } from './database.ts'
import { sql } from './statement.ts'

/** Some expressions of few characters take seconds to be read, and whoever asks waits meanwhile. */
const READING_MAX_MS = 2_000

/** What a client is told where PostgreSQL could not read a regular expression of its filter; undefined for any other error. */
export function unreadablePattern(error: unknown, filter: Filter): DroverError | undefined {
  if (sqlState(error) !== '2201B') return undefined
  const places = filterPatterns(filter).map(({ path }) => ({
    name: path,
    value: 'a regular expression that cannot be read',
  }))
  return new DroverError('invalidFilter', places, 'The filter is not valid: a regular expression cannot be read.')
}

/**
 * Has every regular expression of a filter read once. Throws `invalidFilter` where one cannot be, `searchTooExpensive` where that takes
 * longer than two seconds; the transaction is lost then.
 */
export async function tryPatterns(tx: Transaction, filter: Filter): Promise<void> {
  const patterns = filterPatterns(filter).map(({ pattern }) => pattern)
  if (patterns.length === 0) return
  const [time] = await tx.query<{ before: string }>(sql`select current_setting('statement_timeout') as before`)
  await setTime(tx, String(READING_MAX_MS))
  try {
    await tx.query(sql`select '' ~ pattern as matches from unnest(${patterns}::text[]) as tried(pattern)`)
  } catch (error) {
    if (sqlState(error) === '57014') throw new DroverError('searchTooExpensive')
    throw unreadablePattern(error, filter) ?? error
  }
  await setTime(tx, time!.before)
}

const setTime = (tx: Transaction, time: string) => tx.query(sql`select set_config('statement_timeout', ${time}, true)`)
