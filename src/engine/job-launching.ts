/** How a stored job launches, and what its gates are judged by: its columns as the domain takes them, and the gates asked for many. */
import { type GatedJob, jobGates } from '../domain/gates.ts'
import type { OperationKey } from '../domain/identity.ts'
import type { Launching } from '../domain/launching.ts'
import { parseWindow, type Window } from '../domain/window.ts'
import type { Queryable, Transaction } from '../store/database.ts'
import { readPausedAt } from '../store/job-pauses.ts'
import type { StoredJob } from '../store/jobs.ts'
import { enterLaunchGate, type GatedJobRow, type LaunchingJob, readGatedJobs } from '../store/launch-gate.ts'
import type { Clock } from './clock.ts'

const WINDOWS_REMEMBERED = 1_000
const windows = new Map<string, Window>()

/** A stored window, which was found valid when it was asked; reading it again is remembered by its text. */
export function storedWindow(json: unknown): Window | undefined {
  if (json === null || json === undefined) return undefined
  const text = JSON.stringify(json)
  const known = windows.get(text)
  if (known) return known
  const read = parseWindow(json)
  if (!read.ok) throw new Error(`a stored window is not valid: ${text}`)
  if (windows.size >= WINDOWS_REMEMBERED) windows.clear()
  windows.set(text, read.value)
  return read.value
}

/** What the domain needs of a job to say which of its places are reached. */
export function launchingOf(
  job: Omit<LaunchingJob, 'job' | 'organization' | Exclude<keyof GatedJobRow, 'window'>>,
): Launching {
  const { places, spreadMs, launchAt, overdueFrom, overduePlaces, overdueAt, overdueMs } = job
  return {
    places,
    spreadMs,
    launchAt: launchAt.getTime(),
    window: storedWindow(job.window),
    overdue: overdueAt
      ? { from: overdueFrom, places: overduePlaces, at: overdueAt.getTime(), spreadMs: overdueMs }
      : null,
  }
}

/** What the domain needs of a job to say whether its operations may go. */
export function gatedJobOf({ status, startAt, stopAt, unresolved, window }: Omit<GatedJobRow, 'job'>): GatedJob {
  const [start, stop] = [startAt?.getTime() ?? null, stopAt?.getTime() ?? null]
  return { status, startAt: start, stopAt: stop, unresolved, window: storedWindow(window) }
}

/** The same of a job as it is read, for whoever is told what holds it: with the instant since which it is paused. */
export async function toldJobOf(db: Queryable, job: StoredJob): Promise<GatedJob> {
  const { window } = job.request.schedule
  const pausedAt = job.status === 'PAUSED' ? await readPausedAt(db, job.job) : null
  const gated = gatedJobOf({ ...job, unresolved: job.unresolved.length, window })
  return { ...gated, pausedAt: pausedAt?.getTime() ?? null }
}

/**
 * The jobs of these operations whose gates are all open, which holds until the transaction ends. Judged when the gate lock was got: it
 * may have been waited for, and the end of a window or the stop of a job have come meanwhile.
 */
export async function openJobsAmong(
  tx: Transaction,
  operations: readonly Pick<OperationKey, 'job'>[],
  clock: Pick<Clock, 'now'>,
): Promise<ReadonlySet<bigint>> {
  const numbers = [...new Set(operations.map(({ job }) => job))]
  const [, jobs] = await Promise.all([enterLaunchGate(tx), readGatedJobs(tx, numbers)])
  const now = clock.now().getTime()
  return new Set(jobs.filter(job => jobGates(gatedJobOf(job), now).length === 0).map(({ job }) => job))
}
