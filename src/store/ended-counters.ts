/** How the counters of ended operations are called in searches: as the job's summary calls them. It counts nothing. */
import type { Counter } from '../domain/counters.ts'

/** The counters by these names. */
export const ENDED_COUNTERS: Readonly<Record<string, Counter>> = {
  successful: 'successful',
  error: 'error',
  byUser: 'by_user',
  byEngine: 'by_engine',
  byTimeout: 'by_timeout',
  byExternalTimeout: 'by_external_timeout',
  byExternal: 'by_external',
  byAlreadyInProgress: 'by_already_in_progress',
  outOfTimeSuccessful: 'oot_successful',
  outOfTimeError: 'oot_error',
}

/** What can also be the end of an operation that was successful. */
export const COUNTERS_OF_SUCCESS = ['successful', 'outOfTimeSuccessful']

const names = new Map(Object.entries(ENDED_COUNTERS).map(([name, counter]) => [counter, name]))

/** The name of a counter; undefined for one of open operations. */
export const endedCounterName = (counter: Counter): string | undefined => names.get(counter)
