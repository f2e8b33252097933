/**
 * The commands about jobs of the model test, and what each must come to: whether it is obeyed or refused, with which words, and how the
 * job reads afterwards. Refuses to know devices.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../src/domain/caller.ts'
import { ERRORS, type ErrorName } from '../../src/domain/errors.ts'
import type { JobChange, JobRequest, JobStatus } from '../../src/domain/job.ts'
import type { Database } from '../../src/store/database.ts'
import { type JobRow, readJob } from '../../src/store/jobs.ts'
import { sql } from '../../src/store/statement.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import type { ModelProcesses, Outcome } from './model-processes.ts'
import { stopsTooEarly } from './model-schedule.ts'
import type { Living, ModelTargets } from './model-targets.ts'
import { jobRequest } from './workbench.ts'

const FINAL: readonly JobStatus[] = ['FINISHED', 'FINISHED_WITH_ERRORS', 'CANCELLED', 'TIMEOUT_CANCELLED']
const isClosing = (status: JobStatus) => status.startsWith('CANCELLING') || FINAL.includes(status)
const mayLaunch = (status: JobStatus) => status === 'IN_PROGRESS' || status === 'SCHEDULED'

/** What a command must come to: a status, or a refusal. */
type Verdict = { readonly to: readonly JobStatus[] } | { readonly refusal: ErrorName }

const only = (active: boolean | undefined) => (active === undefined ? {} : { active })
const refused = (refusal: ErrorName): Verdict => ({ refusal })

export interface ModelJobsParts {
  readonly database: Database
  readonly clock: VirtualClock
  readonly caller: Caller
  readonly command: ModelProcesses['command']
  readonly targets: ModelTargets
  readonly living: () => Living
  readonly breach: (what: string) => void
}

export type ModelJobs = ReturnType<typeof createModelJobs>

export function createModelJobs(parts: ModelJobsParts) {
  const { database, clock, caller, command, targets, living, breach } = parts
  const created = new Set<bigint>()
  const cancelled = new Set<bigint>()
  /** with the start that they had: a run of a task that was held back is another one once its occurrence has passed */
  const closed = new Map<bigint, number | null>()
  const touched = new Set<bigint>()
  let numbers: bigint[] = []
  let changes = 0

  const read = (job: bigint) => readJob(database, caller.organization, job)
  const at = (index: number): bigint | undefined => numbers[index % Math.max(1, numbers.length)]

  async function look(): Promise<void> {
    const rows = await database.query<{ job: bigint }>(
      sql`select job from job where organization = ${caller.organization} order by job`,
    )
    numbers = rows.map(({ job }) => job)
  }

  const close = ({ job, startAt }: Pick<JobRow, 'job' | 'startAt'>) => closed.set(job, startAt?.getTime() ?? null)

  /** Notes that a client was told that jobs are cancelled. */
  async function noteCancelled(those: readonly bigint[]): Promise<void> {
    for (const job of those) {
      close((await read(job))!)
      cancelled.add(job)
    }
  }

  /** Holds a command to its verdict: the words of a refusal, the status, and that it answered what is stored. */
  async function holdTo(verdict: Verdict, what: string, outcome: Outcome<JobRow>, before?: JobRow): Promise<void> {
    if (outcome.kind === 'unanswered') return
    if (outcome.kind === 'refused') {
      const { code } = outcome.error.entry
      const owed = 'refusal' in verdict ? ERRORS[verdict.refusal].code : 'none'
      if (code !== owed) breach(`${what} was refused by ${code} ${outcome.error.message}, and not by ${owed}`)
      const after = before && (await read(before.job))
      if (!isDeepStrictEqual(after, before)) breach(`${what} was refused and changed the job`)
      return
    }
    const { answer } = outcome
    if ('refusal' in verdict) return breach(`${what} was obeyed, and not refused by ${verdict.refusal}`)
    if (!verdict.to.includes(answer.status)) breach(`${what} led to ${answer.status}, and not to ${verdict.to}`)
    const stored = await read(answer.job)
    if (!isDeepStrictEqual(stored, answer)) breach(`${what} answered other than is stored`)
  }

  /** What a PUT of a job must come to, by the rules of PUT. */
  function judgeChange(before: JobRow, { active, ...fields }: JobChange, now: number): Verdict {
    const { status, task, request } = before
    if (Object.keys(fields).length > 0) {
      if (status !== 'IDLE') return refused('jobTransition')
      const { schedule, target } = fields
      if (schedule && stopsTooEarly({ ...request.schedule, ...schedule }, now)) return refused('invalidField')
      if (target && (request.target.filter || request.target.append?.filter)) return refused('forbiddenField')
    }
    if (active === undefined) return { to: [status] }
    if (isClosing(status)) return refused('jobTransition')
    if (!active) return { to: [status === 'IN_PROGRESS' || status === 'PAUSED' ? 'PAUSED' : 'IDLE'] }
    if (status !== 'IDLE') return { to: [status === 'PAUSED' ? 'IN_PROGRESS' : status] }
    const schedule = { ...request.schedule, ...fields.schedule }
    if (task !== null) return { to: ['SCHEDULED'] }
    const { open, resolves } = targets.after(before.job, fields.target, living())
    if (open === 0 && !resolves) return refused('noTarget')
    if (stopsTooEarly(schedule, now)) return refused('invalidField')
    const { start } = schedule
    const waits = start && ('delayed' in start ? start.delayed > 0 : Date.parse(start.date) > now)
    return { to: [waits || resolves ? 'SCHEDULED' : 'IN_PROGRESS'] }
  }

  async function change(index: number, wanted: JobChange): Promise<void> {
    const job = at(index)
    if (job === undefined) return
    const before = (await read(job))!
    // Of a run that waits only whether it is held back is its own.
    const { active, ...fields }: JobChange = before.task === null ? wanted : { ...only(wanted.active) }
    const asked: JobChange = { ...fields, ...only(active) }
    const hasFields = Object.keys(fields).length > 0
    if (Object.keys(asked).length === 0) return
    changes += 1
    const put = hasFields ? { ...asked, userNotes: `change ${changes}` } : asked
    const verdict = judgeChange(before, put, clock.now().getTime())
    // Open from the moment it is asked: the answer comes after the first launch may.
    if (active === true) closed.delete(job)
    if (active !== undefined) touched.add(job)
    const outcome = await command(bench => bench.jobs.change(bench.caller, job, put))
    await holdTo(verdict, `PUT ${JSON.stringify(put)} of job ${job} in ${before.status}`, outcome, before)
    const after = (await read(job))!
    // Where nobody answered, it was carried out as a whole or not at all.
    const isDone = outcome.kind === 'obeyed' || (hasFields && after.request.userNotes === `change ${changes}`)
    if (isDone && asked.target) targets.change(job, asked.target, living())
    if (isDone && hasFields) holdFields(before, after, put)
    if (outcome.kind === 'obeyed' && active === false) close(after)
    if (active === true && outcome.kind !== 'obeyed' && !mayLaunch(after.status)) close(after)
  }

  /** The fields that were changed read back, and no others have changed. */
  function holdFields(before: JobRow, after: JobRow, { target, active, schedule, ...plain }: JobChange): void {
    const owed = {
      ...before.request,
      ...plain,
      ...(schedule && { schedule: { ...before.request.schedule, ...schedule } }),
      active: active ?? before.request.active,
    }
    if (isDeepStrictEqual(after.request, owed)) return
    breach(`job ${before.job} reads ${JSON.stringify(after.request)} after a PUT, and not ${JSON.stringify(owed)}`)
  }

  return {
    change,
    /** Looks which jobs there are by now. */
    look,
    at,
    created,
    cancelled,
    noteCancelled,
    /** Notes that a job is open again, whoever had closed it. */
    reopen: (job: bigint) => void closed.delete(job),
    /** Whether a client has asked for a job to be held back or to go on. */
    isTouched: (job: bigint) => touched.has(job),
    /** Whether a client was told that nothing of a job will be launched, while its start is this. */
    isClosed: (job: bigint, startAt: Date | null) =>
      closed.has(job) && closed.get(job) === (startAt?.getTime() ?? null),
    numbers: () => numbers,
    async create(plan: Omit<Partial<JobRequest>, 'target'> & Pick<JobRequest, 'target'>): Promise<void> {
      const request = jobRequest(plan)
      const now = clock.now().getTime()
      const { start } = request.schedule
      const waits = start && ('delayed' in start || Date.parse(start.date) > now)
      const { append = {}, filter } = request.target
      const resolves = filter !== undefined || append.filter !== undefined || append.tags !== undefined
      const verdict: Verdict = stopsTooEarly(request.schedule, now)
        ? refused('invalidField')
        : targets.isHopeless(request.target, living())
          ? refused('noTarget')
          : { to: [request.active ? (waits || resolves ? 'SCHEDULED' : 'IN_PROGRESS') : 'IDLE'] }
      const outcome = await command(bench => bench.jobs.create(bench.caller, request))
      await holdTo(verdict, `POST ${JSON.stringify(request)}`, outcome)
      if (outcome.kind === 'obeyed') created.add(outcome.answer.job)
      await look()
    },
    async cancel(index: number): Promise<void> {
      const job = at(index)
      if (job === undefined) return
      const before = (await read(job))!
      const verdict: Verdict = FINAL.includes(before.status)
        ? refused('jobTransition')
        : { to: isClosing(before.status) ? [before.status] : ['CANCELLING_BY_USER', 'CANCELLED'] }
      const outcome = await command(bench => bench.jobs.cancel(bench.caller, job))
      await holdTo(verdict, `DELETE of job ${job} in ${before.status}`, outcome, before)
      if (outcome.kind !== 'obeyed') return
      await noteCancelled([job])
    },
  }
}
