/** How all jobs of the organization stand together, from one count of the interface: nothing here is of the newest alone. */
import { asking } from '../../request.ts'
import type { Share } from '../../words.ts'
import { jobFilter, STATUS } from '../job-filter.ts'

export const NEWEST = { sort: { parameters: [{ name: 'jobs.id', type: 'DESCENDING' as const }] } }

const PARTS = [
  ['started', 'Started', 'running'],
  ['pendingExecution', 'Pending execution', 'sent'],
  ['waitingForConnection', 'Waiting for connection', 'waiting'],
  ['scheduled', 'Scheduled', 'scheduled'],
] as const

const counterOf = (part: string) => `jobs.report.summary.inProgress.${part}`

/** How many jobs have each status, and how often each number of open operations occurs among them. */
export const STANDING = asking('POST /search/jobs/summary', {
  body: {
    filter: jobFilter('open'),
    group: { parameters: [STATUS, ...PARTS.map(([part]) => counterOf(part))].map(name => ({ name })) },
  },
})

interface ValueCounts {
  readonly count: number
  readonly list: readonly { readonly name: string; readonly count: number }[]
}

export interface Standing {
  /** jobs by status */
  readonly jobs: ReadonlyMap<string, number>
  /** operations that have not ended, of all jobs */
  readonly open: number
  readonly shares: readonly Share[]
  /** false where there are more different numbers than are told: there are then more operations */
  readonly isWhole: boolean
}

/** The counts of a summary by the field that it was grouped by. */
export function countsOf(summary: unknown): ReadonlyMap<string, ValueCounts> {
  const { summaryGroup = [] } = summary as { summaryGroup?: readonly Readonly<Record<string, ValueCounts>>[] }
  return new Map(summaryGroup.flatMap(group => Object.entries(group)))
}

/** The sums of the answer to `STANDING`; null before there is one. */
export function readStanding(answer: { readonly summary: unknown } | null | undefined): Standing | null {
  if (!answer) return null
  const counts = countsOf(answer.summary)
  const listed = (field: string) => counts.get(field)?.list ?? []
  const shares = PARTS.map(([key, label, tone]): Share => {
    const sum = listed(counterOf(key)).reduce((total, each) => total + Number(each.name) * each.count, 0)
    return { key, label, tone, count: sum, group: 'open' }
  })
  const isWhole = PARTS.every(([part]) => {
    const told = listed(counterOf(part)).reduce((total, each) => total + each.count, 0)
    return told === (counts.get(counterOf(part))?.count ?? 0)
  })
  return {
    jobs: new Map(listed(STATUS).map(each => [each.name, each.count])),
    open: shares.reduce((total, share) => total + share.count, 0),
    shares,
    isWhole,
  }
}
