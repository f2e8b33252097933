/**
 * The use cases of jobs: create, change, cancel. Each is one transaction; what it answered is kept. Refuses to know the wire and
 * to launch anything by itself. Serves: Endpoints (Jobs), Rules for PUT, Rules for DELETE.
 */
import type { Caller } from '../domain/caller.ts'
import { DroverError } from '../domain/errors.ts'
import type { JobChange, JobRequest } from '../domain/job.ts'
import type { Database, Queryable, Transaction } from '../store/database.ts'
import { findIdempotent, keepIdempotent } from '../store/idempotency.ts'
import { keepJobTrace } from '../store/job-traces.ts'
import {
  insertJob,
  type JobRow,
  type JobWarning,
  lockJobs,
  readCounters,
  readJob,
  type StoredJob,
  updateJob,
} from '../store/jobs.ts'
import { shareTypeNames } from '../store/operation-types.ts'
import { createJobJudging, type ExecutableType, type JobJudgingParts } from './job-judging.ts'
import { LARGE_FROM } from './job-ranking.ts'
import type { JobNotices, JobSettling } from './job-settling.ts'
import { addListed, removeTargets, unresolvedOf } from './job-targets.ts'
import { activate, begin, beginCancel, decideOrRefuse, judgeStop, pause, resume } from './job-transitions.ts'
import { cancelChunk } from './operation-canceller.ts'

export interface JobsParts extends JobJudgingParts {
  readonly database: Database
  readonly now: () => Date
  readonly nextNumber: () => bigint
  readonly notices: JobNotices
  readonly settling: JobSettling
  /** open operations that a DELETE may cancel before it answers */
  readonly cancelAtOnceMax: number
  /** wakes the loops: something became due, or counters changed */
  readonly onCommit: () => void
}

export interface CreateOptions {
  readonly idempotencyKey?: string
  /** tells a repeat from another request under the same key */
  readonly requestHash?: string
  /** the `traceparent` of the request, where it is recorded: the job goes on with it */
  readonly trace?: string
}

export interface Jobs {
  /** Creates a job, and starts it where it is to start at once. Throws a DroverError for everything a client can mend. */
  create(caller: Caller, request: JobRequest, options?: CreateOptions): Promise<JobRow>
  /** Changes a job as PUT allows: fields first, then `active`. One that is activated goes on with the trace of the request. */
  change(caller: Caller, job: bigint, change: JobChange, trace?: string): Promise<JobRow>
  /** Begins to cancel a job; a small one that launched nothing is cancelled when this resolves. */
  cancel(caller: Caller, job: bigint): Promise<JobRow>
}

/** However large the fleet, and whatever the job holds already. */
const BY_KEY = { byKey: true }
const IDEMPOTENCY_MS = 24 * 3_600_000

export function createJobs(parts: JobsParts): Jobs {
  const { database, now, settling, onCommit } = parts

  const { executable, judged } = createJobJudging(parts)

  async function create(
    caller: Caller,
    asked: JobRequest,
    { idempotencyKey, requestHash, trace }: CreateOptions = {},
  ): Promise<JobRow> {
    const at = now()
    const number = parts.nextNumber()
    const stored = await database.transaction(async tx => {
      if (idempotencyKey !== undefined) {
        const known = await findIdempotent(tx, caller, idempotencyKey, new Date(at.getTime() - IDEMPOTENCY_MS))
        if (known && known.requestHash !== (requestHash ?? '')) {
          throw new DroverError('invalidField', [{ name: 'Idempotency-Key' }], 'This key was used for another request.')
        }
        if (known) return known.job
        await keepIdempotent(tx, caller, idempotencyKey, requestHash ?? '', number, at)
      }
      const [, type] = await Promise.all([shareTypeNames(tx, caller.organization), executable(tx, caller, asked.name)])
      const request = await judged(tx, caller, type, asked)
      await store(tx, newJob(number, caller, request, null, at), request.active, type, at)
      if (trace !== undefined) await keepJobTrace(tx, number, trace)
      return number
    }, BY_KEY)
    onCommit()
    return await read(database, caller.organization, stored)
  }

  async function store(
    tx: Transaction,
    job: StoredJob,
    active: boolean,
    type: ExecutableType,
    at: Date,
  ): Promise<void> {
    const { request } = job
    const selection = { ...(request.target.filter && { filter: request.target.filter }), ...request.target.append }
    job.unresolved = unresolvedOf(selection, request.resourceType)
    judgeStop(job, at)
    await insertJob(tx, job)
    const listed = (selection.entities?.length ?? 0) + (selection.entitiesWithParameters?.length ?? 0)
    const added = await addListed(tx, job, selection, type.applicability)
    if (listed > 0 && added === 0) throw new DroverError('noTarget', refusalContext(job))
    if (active && activate(job, at)) await begin(tx, job, parts.notices, at)
    else await updateJob(tx, job)
  }

  async function change(caller: Caller, number: bigint, asked: JobChange, trace?: string): Promise<JobRow> {
    const at = now()
    await database.transaction(async tx => {
      const job = await locked(tx, caller, number)
      const { active, ...fields } = asked
      if (Object.keys(fields).length > 0) await changeFields(tx, caller, job, fields, at)
      const activates = active === true && job.status === 'IDLE'
      if (active === true) await switchOn(tx, caller, job, at)
      if (activates && trace !== undefined) await keepJobTrace(tx, number, trace)
      if (active === false) await pause(tx, job, at)
    }, BY_KEY)
    onCommit()
    return await read(database, caller.organization, number)
  }

  async function changeFields(
    tx: Transaction,
    caller: Caller,
    job: StoredJob,
    { target, schedule, ...plain }: Omit<JobChange, 'active'>,
    at: Date,
  ): Promise<void> {
    decideOrRefuse(job, 'change')
    job.request = {
      ...job.request,
      ...plain,
      ...(schedule && { schedule: { ...job.request.schedule, ...schedule } }),
    }
    if (schedule) {
      if (schedule.start) job.startAt = null
      judgeStop(job, at)
      // What else is known of it, as that its target cannot be resolved, is as true as before.
      job.warnings = [...job.warnings.filter(({ code }) => code !== WAITS_FOREVER), ...warningsOf(job.request)]
    }
    if (target) {
      if (job.request.target.filter || job.request.target.append?.filter) {
        throw new DroverError('forbiddenField', [
          { name: 'job.request.target', value: 'is a filter, which cannot be changed' },
        ])
      }
      const type = await executable(tx, caller, job.name)
      if (target.remove) await removeTargets(tx, job, target.remove)
      if (target.append) {
        const judgedRequest = await judged(tx, caller, type, { ...job.request, target: { append: target.append } })
        const append = judgedRequest.target.append!
        job.request = { ...job.request, parameters: judgedRequest.parameters }
        await addListed(tx, job, append, type.applicability)
        job.unresolved = [...job.unresolved, ...unresolvedOf(append, job.request.resourceType)]
      }
    }
    await updateJob(tx, job)
  }

  async function switchOn(tx: Transaction, caller: Caller, job: StoredJob, at: Date): Promise<void> {
    if (job.status !== 'IDLE' && job.status !== 'PAUSED') {
      decideOrRefuse(job, 'activateNow')
      return
    }
    // Whoever has it run runs it, whoever made it.
    await executable(tx, caller, job.name)
    if (job.status === 'PAUSED') return await resume(tx, job, at)
    const open = (await readCounters(tx, [job.job])).get(job.job)!.scheduled
    if (open === 0 && job.unresolved.length === 0) throw new DroverError('noTarget', refusalContext(job))
    // The keeper starts what takes longer than a request may.
    if (activate(job, at, open <= LARGE_FROM)) await begin(tx, job, parts.notices, at)
    else await updateJob(tx, job)
  }

  async function cancel(caller: Caller, number: bigint): Promise<JobRow> {
    const at = now()
    const cancelled = await database.transaction(async tx => {
      const job = await locked(tx, caller, number)
      if (!(await beginCancel(tx, job, 'userCancel'))) return await read(tx, caller.organization, number)
      const counters = (await readCounters(tx, [number])).get(number)!
      const launched = counters.pending_execution + counters.waiting_for_connection + counters.started
      if (launched === 0 && counters.scheduled <= parts.cancelAtOnceMax) {
        await cancelChunk(tx, number, 'userCancel', at, { limit: parts.cancelAtOnceMax })
        await settling.settle(tx, [number], at)
      }
      // As this call leaves it: what carries it on is awake as soon as it is committed.
      return await read(tx, caller.organization, number)
    }, BY_KEY)
    onCommit()
    return cancelled
  }

  async function locked(tx: Transaction, caller: Caller, number: bigint): Promise<StoredJob> {
    const [job] = await lockJobs(tx, [number])
    if (!job || job.organization !== caller.organization) throw new DroverError('unknown', [{ name: 'jobId' }])
    return job
  }

  async function read(db: Queryable, organization: number, number: bigint): Promise<JobRow> {
    const job = await readJob(db, organization, number)
    if (!job) throw new DroverError('unknown', [{ name: 'jobId' }])
    return job
  }

  return { create, change, cancel }
}

/** A job as it is before anything happened to it. */
export function newJob(
  number: bigint,
  caller: Pick<Caller, 'email' | 'organization'>,
  request: JobRequest,
  task: bigint | null,
  at: Date,
): StoredJob {
  const { ackTimeout, timeout, retries, retriesDelay, retryResultList } = request.operationParameters
  return {
    job: number,
    organization: caller.organization,
    task,
    name: request.name,
    userEmail: caller.email,
    request: { ...request, active: false },
    status: 'IDLE',
    unresolved: [],
    refused: {},
    warnings: warningsOf(request),
    createdAt: at,
    activatedAt: null,
    startedAt: null,
    finishedAt: null,
    startAt: null,
    stopAt: null,
    wakeAt: null,
    resolveFailures: 0,
    ackTimeoutMs: ackTimeout,
    timeoutMs: timeout,
    retries,
    retriesDelayMs: retriesDelay,
    retryResults: retryResultList,
    places: 0,
    spreadMs: 0,
    launchAt: null,
    overdueFrom: 0,
    overduePlaces: 0,
    overdueAt: null,
    overdueMs: 0,
    errorCode: null,
    errorDescription: null,
  }
}

const WAITS_FOREVER = 'waits-forever'

/** What a client should know of a request: what its schedule and its times lead to. */
function warningsOf({ operationParameters, schedule }: JobRequest): JobWarning[] {
  return operationParameters.ackTimeout === 0 && schedule.stop === undefined ? [{ code: WAITS_FOREVER }] : []
}

function refusalContext(job: StoredJob): { name: string; value?: unknown }[] {
  return [{ name: 'job.request.target' }, ...Object.entries(job.refused).map(([name, value]) => ({ name, value }))]
}
