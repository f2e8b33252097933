/**
 * Moves one locked job along its lifecycle: activates, starts, pauses, resumes, stops and cancels it, in the caller's
 * transaction. Refuses to be called without the job's row locked.
 */
import { DroverError } from '../domain/errors.ts'
import { decideJob, type JobEvent, type JobStatus } from '../domain/job.ts'
import { FIRST_PLACE } from '../domain/launching.ts'
import { layOut } from '../domain/plan.ts'
import { refusalOf } from '../domain/refusal.ts'
import { placesReached, spreadLeft } from '../domain/scattering.ts'
import { noSchedule, parseSchedule, type Schedule, startAt, stopBeforeStart } from '../domain/schedule.ts'
import { firstReadyPlaces } from '../store/claims.ts'
import type { Transaction } from '../store/database.ts'
import { keepPausedAt } from '../store/job-pauses.ts'
import { type StoredJob, updateJob } from '../store/jobs.ts'
import { holdLaunchGate } from '../store/launch-gate.ts'
import { rankOperations } from '../store/targets.ts'
import { launchingOf } from './job-launching.ts'
import type { JobNotices } from './job-settling.ts'
import { nextWakeAt } from './job-waking.ts'

/** The schedule of a stored job, which was found valid when it was asked. */
export function scheduleOf(job: Pick<StoredJob, 'request'>): Schedule {
  const read = parseSchedule(job.request.schedule)
  return read.ok ? read.value : noSchedule
}

/** Decides, and throws where the lifecycle refuses. */
export function decideOrRefuse(job: StoredJob, event: JobEvent): ReturnType<typeof decideJob> & { to: JobStatus } {
  const decision = decideJob(job.status, event)
  if (decision.to === 'refused') throw new DroverError('jobTransition')
  return { ...decision, to: decision.to }
}

/** Refuses a job whose stop is known to lie at or before any start it can still have. */
export function judgeStop(job: Pick<StoredJob, 'request'>, now: Date): void {
  const problems = stopBeforeStart(scheduleOf(job), now.getTime(), 'job.request.schedule')
  if (problems.length > 0) throw refusalOf(problems)
}

/**
 * Activates an IDLE job: dates it, and has it wait for its start, which of a task's job is that of its occurrence. Answers whether it is
 * to be begun at once, as it is where its start has come, its target is resolved and it `may`. Throws where its stop lies before it
 * could start.
 */
export function activate(job: StoredJob, now: Date, may = true): boolean {
  const schedule = scheduleOf(job)
  judgeStop(job, now)
  if (job.task === null || job.startAt === null) job.startAt = new Date(startAt(schedule, now.getTime()))
  const isNow = may && job.unresolved.length === 0 && job.startAt <= now
  job.status = decideOrRefuse(job, isNow ? 'activateNow' : 'activateLater').to
  job.activatedAt = now
  job.resolveFailures = 0
  job.warnings = job.warnings.filter(({ code }) => code !== 'target-unresolvable')
  const stops = schedule.stop?.kind === 'date' ? schedule.stop.at : null
  job.stopAt = stops === null ? null : new Date(stops)
  job.request = { ...job.request, active: true }
  return isNow
}

/** The factor by which the operations of a job are spread over cells; null where they are not. */
export function factorOf(job: Pick<StoredJob, 'request'>): number | null {
  return scheduleOf(job).scattering?.strategy?.factor ?? null
}

/** Starts a SCHEDULED, resolved job whose start has come. `places`: how many operations have theirs, where that was done. */
export async function start(
  tx: Transaction,
  job: StoredJob,
  notices: JobNotices,
  now: Date,
  places?: number,
): Promise<void> {
  job.status = decideOrRefuse(job, 'startReached').to
  await begin(tx, job, notices, now, places)
}

/** Begins a job that has started: ranks its operations unless that was done, plans its places, and tells that it started. */
export async function begin(
  tx: Transaction,
  job: StoredJob,
  notices: JobNotices,
  now: Date,
  places?: number,
): Promise<void> {
  const schedule = scheduleOf(job)
  job.places = places ?? (await rankOperations(tx, job.job, factorOf(job)))
  job.startedAt = now
  job.launchAt = now
  const layout = layOut(schedule, job, now.getTime(), job.places)
  job.stopAt = layout.stopAt === null ? null : new Date(layout.stopAt)
  job.spreadMs = layout.launching.spreadMs
  job.wakeAt = nextWakeAt(job, now)
  job.warnings = [...job.warnings.filter(({ code }) => code !== 'rate-above-maximum'), ...layout.warnings]
  await updateJob(tx, job)
  await notices.started(tx, [job], now)
}

/** Pauses a job: once this is committed nothing of it is launched. */
export async function pause(tx: Transaction, job: StoredJob, now: Date): Promise<void> {
  const { status: before } = job
  job.status = decideOrRefuse(job, 'deactivate').to
  job.request = { ...job.request, active: false }
  if (job.launchAt) await holdLaunchGate(tx)
  await updateJob(tx, job)
  if (job.status === 'PAUSED' && before !== 'PAUSED') await keepPausedAt(tx, job.job, now)
}

/** Resumes a paused job: what became overdue is spread anew over what is left of the spread. */
export async function resume(tx: Transaction, job: StoredJob, now: Date): Promise<void> {
  job.status = decideOrRefuse(job, 'activateNow').to
  job.request = { ...job.request, active: true }
  // Devices that came meanwhile are looked for by the keeper: with a million of them that is no work for a request.
  job.wakeAt = now
  await spreadOverdue(tx, job, now)
  await updateJob(tx, job)
  await keepPausedAt(tx, job.job, null)
}

/** Opens the second lane for the places that passed while nothing could be launched. */
export async function spreadOverdue(tx: Transaction, job: StoredJob, now: Date): Promise<void> {
  if (job.spreadMs === 0 || !job.launchAt) return
  const { window } = scheduleOf(job)
  const launching = launchingOf({ ...job, launchAt: job.launchAt, window: job.request.schedule.window })
  const reached = placesReached(job.spreadMs, job.places, launching.launchAt, window, now.getTime())
  // Retries wait at the first place, which is reached anyway.
  const first = (await firstReadyPlaces(tx, [job.job], FIRST_PLACE)).get(job.job) ?? reached
  if (first >= reached) return
  job.overdueFrom = first
  job.overduePlaces = reached
  job.overdueAt = now
  job.overdueMs = spreadLeft(job.spreadMs, launching.launchAt, window, now.getTime())
}

/**
 * Closes a job for good: its operations are cancelled from here on. Answers whether they are to be: a repeat changes nothing, whatever
 * the job is being cancelled for.
 */
export async function beginCancel(
  tx: Transaction,
  job: StoredJob,
  event: Extract<JobEvent, 'userCancel' | 'stopReached'>,
): Promise<boolean> {
  const { to, effects } = decideOrRefuse(job, event)
  if (!effects.includes('cancelOperations')) return false
  job.status = to
  if (job.launchAt) await holdLaunchGate(tx)
  job.unresolved = []
  await updateJob(tx, job)
  return true
}
