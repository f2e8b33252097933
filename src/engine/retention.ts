/**
 * Lets what is older than a month go: ended operations a month at a time, whole, and the jobs that they were of. Refuses to touch what
 * still runs: a month in which a job runs stays until it has ended.
 */
import { type Month, monthNamed } from '../domain/months.ts'
import { forgetAudit } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import { forgetFormerEntities } from '../store/former-entities.ts'
import {
  countEndedJobs,
  dropMonth,
  hasRunningJobs,
  type JobRange,
  partitionedMonths,
  removeJobsOf,
} from '../store/months.ts'

const ENTITIES_PER_CHUNK = 5_000
const JOBS_PER_CHUNK = 1_000
/** A month whose lock cannot be had, as while a backup is taken, is left to the next time. */
const TURNS_IN_VAIN_MAX = 20

/** What is older than a month, and may go. */
export interface Outdated {
  /** names of months of ended operations, in order */
  readonly months: readonly string[]
  /** older months in which a job still runs */
  readonly kept: readonly string[]
  readonly jobs: number
}

/** Finds what may go before a month; changes nothing. */
export async function findOutdated(database: Database, before: Month): Promise<Outdated> {
  const older = (await partitionedMonths(database)).filter(name => name < before.name)
  const kept: string[] = []
  for (const name of older) if (await hasRunningJobs(database, monthNamed(name))) kept.push(name)
  let jobs = 0
  for (const range of rangesWithout(kept, before)) jobs += await countEndedJobs(database, range)
  return { months: older.filter(name => !kept.includes(name)), kept, jobs }
}

/** What went. */
export interface LetGo {
  readonly months: readonly string[]
  readonly jobs: number
  /** whether more would go at another call: jobs beyond the chunk, or months whose lock did not come in time */
  readonly more: boolean
}

/** Lets go what may: every month, and at most a chunk of jobs. */
export async function letGoBefore(database: Database, before: Month): Promise<LetGo> {
  const { months, kept } = await findOutdated(database, before)
  const gone: string[] = []
  for (const name of months) if (await dropMonth(database, name)) gone.push(name)
  // A job stays for as long as operations of it can be found.
  const staying = [...kept, ...months.filter(name => !gone.includes(name))]
  let jobs = 0
  for (const range of rangesWithout(staying, before)) {
    if (jobs < JOBS_PER_CHUNK) jobs += await removeJobsOf(database, range, JOBS_PER_CHUNK - jobs)
  }
  await forgetAudit(database, before.startsAt)
  await forgetFormerEntities(database, before.startsAt, ENTITIES_PER_CHUNK)
  return { months: gone, jobs, more: jobs === JOBS_PER_CHUNK || gone.length < months.length }
}

/** What is told and heard on the way. */
export interface Pruning {
  /** ends it between two turns, by a failure; what has gone then is gone */
  readonly signal: AbortSignal
  /** what has gone, and its share of what was found at the beginning */
  readonly onProgress: (gone: Omit<Outdated, 'kept'>, share: number) => void
}

/** Lets everything go that may, in turns; `isLeft` says that a month stayed whose lock did not come. */
export async function prune(
  database: Database,
  before: Month,
  { signal, onProgress }: Pruning,
): Promise<Outdated & { readonly isLeft: boolean }> {
  const { kept, ...found } = await findOutdated(database, before)
  const of = found.months.length + found.jobs
  const months: string[] = []
  let jobs = 0
  for (let inVain = 0; ; ) {
    signal.throwIfAborted()
    const turn = await letGoBefore(database, before)
    months.push(...turn.months)
    jobs += turn.jobs
    onProgress({ months, jobs }, of === 0 ? 1 : (months.length + jobs) / of)
    inVain = turn.months.length + turn.jobs > 0 ? 0 : inVain + 1
    if (!turn.more || inVain === TURNS_IN_VAIN_MAX) return { months, jobs, kept, isLeft: turn.more }
  }
}

/** Numbers of jobs before a month, without those of some older months. */
function rangesWithout(names: readonly string[], before: Month): JobRange[] {
  const ranges: JobRange[] = []
  let from = 0n
  for (const month of names.toSorted().map(monthNamed)) {
    if (month.from > from) ranges.push({ from, to: month.from })
    from = month.to
  }
  if (before.from > from) ranges.push({ from, to: before.from })
  return ranges
}
