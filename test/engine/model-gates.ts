/**
 * Holds every launch and hand-out of the model test to the gates, and every job to where its schedule has it. It reckons by the model's
 * own schedule. Refuses to do anything.
 */
import { operationId } from '../../src/domain/identity.ts'
import type { JobStatus } from '../../src/domain/job.ts'
import type { OperationRequest } from '../../src/engine/connector.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { earliestStart, placesDue, type ScheduledJob, scheduleForbids, stopOf } from './model-schedule.ts'

/** For so long a partition may be nobody's after a process was lost. */
const SHARED_ANEW_MS = 15_000

export interface ModelGatesParts {
  readonly database: Database
  readonly clock: VirtualClock
  readonly organization: number
  /** whether a client was told that nothing of a job is launched, as long as its start is this */
  readonly isClosed: (job: bigint, startAt: Date | null) => boolean
  /** whether an entity was deleted */
  readonly isGone: (entity: bigint) => boolean
  /** for how long all that is due has been claimed by somebody */
  readonly wholeForMs: () => number
  readonly breach: (what: string) => void
}

export type ModelGates = ReturnType<typeof createModelGates>

const scheduleSql = sql`j.job, j.request, j.activated_at as "activatedAt", j.started_at as "startedAt", j.start_at as "startAt",
  j.task is not null as "ofTask"`

export function createModelGates(parts: ModelGatesParts) {
  const { database, clock, organization, isClosed, isGone, wholeForMs, breach } = parts
  const launches = new Map<string, Set<number>>()

  return {
    /**
     * Nothing reaches a device outside the window, while paused, before the start, from the stop on and after a cancel or the device's own
     * deletion was answered; nor more often than it may be tried.
     */
    async holdLaunch({ key, launchedAt }: OperationRequest): Promise<void> {
      const now = clock.now().getTime()
      const id = operationId(key)
      const attempts = (launches.get(id) ?? new Set()).add(launchedAt)
      launches.set(id, attempts)
      if (isGone(key.entity)) breach(`${id} left for a device that is gone`)
      const closed = (startAt: Date | null) => isClosed(key.job, startAt)
      const [job] = await database.query<ScheduledJob>(sql`select ${scheduleSql} from job j where j.job = ${key.job}`)
      if (closed(job!.startAt)) breach(`${id} left while its job was closed`)
      for (const why of scheduleForbids(job!, now)) breach(`${id} left ${why}`)
      if (attempts.size > job!.request.operationParameters.retries + 1)
        breach(`${id} left at ${attempts.size} launches`)
    },
    /** Whoever is awake has done all that is due by now: each job stands where its schedule has it, and has launched what it may. */
    async holdSchedules(): Promise<void> {
      const now = clock.now().getTime()
      const jobs = await database.query<Standing>(sql`
        select ${scheduleSql}, j.status, j.unresolved = '[]' as resolved, j.stop_at as "stopAt", j.places,
               j.overdue_at is not null as overdue,
               (select count(*)::int from operation o where o.job = j.job) as open,
               (select count(*)::int from operation o where o.job = j.job and o.status = 'PENDING' and o.started_at is null
                  and exists (select from operation_ready r where r.job = o.job and r.entity = o.entity)) as waiting,
               (select count(*)::int from operation_ended e where e.job = j.job and e.result = 'CANCELLED_INTERNAL') as gone
          from job j where j.finished_at is null and j.organization = ${organization}`)
      const claimed = wholeForMs() > SHARED_ANEW_MS
      for (const job of jobs) for (const what of misplaced(job, now, claimed)) breach(`job ${job.job} ${what}`)
    },
  }
}

/** A job as it stands. */
interface Standing extends ScheduledJob {
  readonly job: bigint
  readonly status: JobStatus
  readonly resolved: boolean
  readonly stopAt: Date | null
  readonly places: number
  /** whether something of it was spread anew */
  readonly overdue: boolean
  readonly open: number
  /** never launched, and ready */
  readonly waiting: number
  /** ended because their entities were deleted */
  readonly gone: number
}

/** What is wrong with how a job stands at an instant at which all that is due has been done. */
function misplaced(job: Standing, now: number, claimed: boolean): string[] {
  const { status, resolved, overdue, places, open, waiting, gone } = job
  const wrong: string[] = []
  const [start, stop] = [earliestStart(job), stopOf(job)]
  if (status === 'SCHEDULED' && job.startAt?.getTime() !== start) wrong.push('waits for another start')
  if (status === 'SCHEDULED' && resolved && start !== null && start <= now) wrong.push('has not started')
  if (status.startsWith('CANCELLING')) wrong.push('has not been cancelled')
  if (status !== 'IN_PROGRESS' && status !== 'PAUSED') return wrong
  if ((job.stopAt?.getTime() ?? null) !== stop) wrong.push('has another stop')
  if (stop !== null && stop <= now) wrong.push('has not stopped')
  if (open === 0) wrong.push('has not ended')
  const [come, due] = [places - waiting, placesDue(job, places, now)]
  const may = claimed && status === 'IN_PROGRESS' && scheduleForbids(job, now).length === 0
  // What was deleted before it was due never comes to its turn.
  if (come - gone > due) wrong.push(`has launched ${come}, and ${due} were due`)
  if (may && !overdue && come < due) wrong.push(`has launched ${come} only, and ${due} were due`)
  return wrong
}
