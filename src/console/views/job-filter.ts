/** Which jobs are meant by what a view says: those that run, that have not ended, that have failures, that have certain words. */
import { anywhere } from '../parts/search-rows.ts'

export const STATUS = 'jobs.report.summary.status'

export const RUNNING = ['IN_PROGRESS', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE'] as const
export const OPEN = [...RUNNING, 'SCHEDULED', 'PAUSED', 'IDLE'] as const

/** The counters of what failed. What a user cancelled is as somebody wanted it. */
const FAILURES = [
  'finished.error',
  ...['byEngine', 'byTimeout', 'byExternalTimeout', 'byExternal', 'byAlreadyInProgress'].map(
    cause => `finished.cancelled.${cause}`,
  ),
  'finishedOutOfTime.error',
]

/** Jobs by the word that stands for them in the address of a list; any other word is a status. */
export const SHOWN: Readonly<Record<string, Record<string, unknown>>> = {
  open: { in: { [STATUS]: OPEN } },
  running: { in: { [STATUS]: RUNNING } },
  failing: { or: FAILURES.map(counter => ({ gt: { [`jobs.report.summary.${counter}`]: 0 } })) },
}

/** The filter of a search, from what is chosen and the words that are looked for. */
export function jobFilter(shown: string, words = ''): Record<string, unknown> {
  const parts: Record<string, unknown>[] = []
  if (shown !== '') parts.push(SHOWN[shown] ?? { eq: { [STATUS]: shown } })
  if (words !== '') {
    parts.push({
      or: [
        { eq: { 'jobs.id': words } },
        ...['jobs.request.name', 'jobs.request.userNotes', 'jobs.request.user'].map(field => ({
          like: { [field]: anywhere(words) },
        })),
      ],
    })
  }
  return parts.length === 0 ? {} : parts.length === 1 ? (parts[0] ?? {}) : { and: parts }
}
