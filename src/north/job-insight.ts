/** The routes that tell of a job what its counters do not: its failures in groups, its course in time, the messages of an operation. They only read. */
import type { FastifyInstance } from 'fastify'
import './request-caller.ts'
import { Type } from 'typebox'
import {
  FAILURE_GROUPS_MAX,
  type FailureGroup,
  FailuresView,
  MessagesView,
  type ProgressPoint,
  ProgressView,
} from '../contract/job-insight.ts'
import { summaryOf } from '../domain/counters.ts'
import { DroverError } from '../domain/errors.ts'
import { jobGates } from '../domain/gates.ts'
import { operationId, parseOperationId } from '../domain/identity.ts'
import { writeInstant } from '../domain/instants.ts'
import { type Launching, placeReachedAt } from '../domain/launching.ts'
import { expectedEnd, plannedBy } from '../domain/progress.ts'
import { launchingOf, toldJobOf } from '../engine/job-launching.ts'
import type { Database } from '../store/database.ts'
import { endedCounterName } from '../store/ended-counters.ts'
import {
  type FailedAlike,
  readFailures,
  readFiledMessages,
  readMessages,
  readStepsOfTime,
  type StepOfTime,
} from '../store/job-insight.ts'
import type { JobRow } from '../store/jobs.ts'
import { readOperation } from '../store/operation-reading.ts'
import { sendCsv, wantedType } from './csv.ts'
import { requestedJob } from './jobs.ts'
import { gateView } from './why.ts'

export interface JobInsightParts {
  readonly database: Database
  readonly now: () => Date
}

const tags = ['jobs']
const params = Type.Object({ jobId: Type.String() })

/** Registers the routes. */
export function jobInsightRoutes(app: FastifyInstance, { database, now }: JobInsightParts): void {
  app.get(
    '/operation/jobs/:jobId/failures',
    {
      schema: {
        tags,
        summary: 'How the operations of a job ended without success, in groups, or these groups as CSV',
        params,
        response: { 200: FailuresView },
      },
    },
    async (request, reply) => {
      const { job } = await requestedJob(database, request)
      const type = wantedType(request)
      if (type !== 'application/json') return await sendCsv(reply, type, FAILURE_COLUMNS, failureRows(database, job))
      const found = await readFailures(database, job, FAILURE_GROUPS_MAX + 1)
      return {
        date: now().toISOString(),
        failures: found.slice(0, FAILURE_GROUPS_MAX).map(failureView),
        more: found.length > FAILURE_GROUPS_MAX,
      } satisfies FailuresView
    },
  )

  app.get(
    '/operation/jobs/:jobId/progress',
    {
      schema: { tags, summary: 'The plan of a job against what has happened', params, response: { 200: ProgressView } },
    },
    async request => progressOf(database, await requestedJob(database, request), now()),
  )

  app.get(
    '/operation/jobs/:jobId/operations/:operationId/messages',
    {
      schema: {
        tags,
        summary: 'The messages about one operation, as they came',
        params: Type.Object({ jobId: Type.String(), operationId: Type.String() }),
        response: { 200: MessagesView },
      },
    },
    async (request): Promise<MessagesView> => {
      const job = await requestedJob(database, request)
      const key = parseOperationId((request.params as { operationId: string }).operationId)
      if (key?.job !== job.job || !(await readOperation(database, key))) {
        throw new DroverError('unknown', [{ name: 'operationId' }])
      }
      const taken = await readMessages(database, key)
      const filed = await readFiledMessages(database, job.organization, operationId(key))
      return {
        messages: taken.map(({ at, attempt, raw }) => ({ date: at, attempt, raw })),
        filed: filed.map(({ at, reason, raw }) => ({ date: at.toISOString(), reason, raw })),
      }
    },
  )
}

/** A group as it is told: its counter by the name that the job's summary has for it. */
const failureView = (group: FailedAlike): FailureGroup => ({
  ...group,
  counter: endedCounterName(group.counter) as FailureGroup['counter'],
})

/** Columns of CSV, each a member of a group. */
const FAILURE_COLUMNS = ['count', 'status', 'result', 'step', 'stepDescription', 'description', 'counter'] as const

async function* failureRows(database: Database, job: bigint): AsyncGenerator<(string | null)[][], void, void> {
  const found = await readFailures(database, job, FAILURE_GROUPS_MAX)
  yield found.map(failureView).map(group => FAILURE_COLUMNS.map(column => group[column]?.toString() ?? null))
}

/** Points of a curve. */
const POINTS = 120
/** No step of a curve is shorter. */
const STEP_MS_MIN = 500
/** How far back the present pace is read from. */
const PACE_MS = 120_000

async function progressOf(database: Database, job: JobRow, now: Date): Promise<ProgressView> {
  const { total, inProgress } = summaryOf(job.counters)
  const launching =
    job.launchAt && job.places > 0
      ? launchingOf({ ...job, launchAt: job.launchAt, window: job.request.schedule.window })
      : null
  const from = (job.startedAt ?? job.launchAt ?? job.startAt ?? job.createdAt).getTime()
  const at = now.getTime()
  const fineMs = Math.max(STEP_MS_MIN, Math.ceil((Math.min(at, job.finishedAt?.getTime() ?? at) - from) / POINTS))
  const steps = job.startedAt === null ? [] : await readStepsOfTime(database, job.job, new Date(from), fineMs)
  const pace = paceOf(steps, from, fineMs, at)
  const end = expectedEnd(
    {
      status: job.status,
      launching,
      stopAt: job.stopAt?.getTime() ?? null,
      endedAt: job.finishedAt?.getTime() ?? null,
      open: inProgress.total,
      ...pace,
    },
    at,
  )
  // What a pause makes overdue is spread anew when it ends: until then no turn lies ahead, and the curve ends at the present.
  const isPaused = job.status === 'PAUSED'
  const lastLaunchAt = launching && !isPaused ? placeReachedAt(launching, launching.places - 1) : null
  const until = job.finishedAt?.getTime() ?? Math.max(end ?? at, at, lastLaunchAt ?? at)
  return {
    date: now.toISOString(),
    total,
    expectedEndDate: end === null ? null : writeInstant(end),
    held: job.finishedAt ? [] : jobGates(await toldJobOf(database, job), at).map(gateView),
    lastLaunchDate: lastLaunchAt === null ? null : writeInstant(lastLaunchAt),
    points: curve({ from, until, fineMs, steps, launching, at }),
  }
}

/** The mean time an operation takes, and how fast operations have ended lately. */
function paceOf(steps: readonly StepOfTime[], from: number, stepMs: number, at: number) {
  const took = steps.reduce((sum, step) => sum + step.took, 0)
  const tookMs = steps.reduce((sum, step) => sum + step.tookMs, 0)
  const since = Math.max(from, at - Math.max(PACE_MS, stepMs))
  const lately = steps.filter(({ step }) => from + (step + 1) * stepMs > since)
  const ended = lately.reduce((sum, step) => sum + step.ended, 0)
  return { meanMs: took > 0 ? tookMs / took : null, endedPerMs: at > since ? ended / (at - since) : 0 }
}

interface Curve {
  readonly from: number
  readonly until: number
  /** of the steps read */
  readonly fineMs: number
  readonly steps: readonly StepOfTime[]
  readonly launching: Launching | null
  /** what lies later has not happened */
  readonly at: number
}

/** Equal points over the whole course; those of what has happened are added up from the steps read. */
function curve({ from, until, fineMs, steps, launching, at }: Curve): ProgressPoint[] {
  const stepMs = Math.max(STEP_MS_MIN, (until - from) / POINTS)
  const count = Math.max(1, Math.ceil((until - from) / stepMs))
  const sum = { launched: 0, ended: 0, successful: 0 }
  let read = 0
  return Array.from({ length: count + 1 }, (_, index) => {
    const date = Math.min(from + index * stepMs, Math.max(until, from))
    for (; read < steps.length && from + steps[read]!.step * fineMs < date; read++) {
      sum.launched += steps[read]!.launched
      sum.ended += steps[read]!.ended
      sum.successful += steps[read]!.successful
    }
    const happened = date <= at + stepMs
    return {
      date: new Date(date).toISOString(),
      // As it was planned; what became overdue in a pause or an outage shows as the distance to it.
      planned: launching ? plannedBy({ ...launching, overdue: null }, date) : null,
      launched: happened ? sum.launched : null,
      ended: happened ? sum.ended : null,
      successful: happened ? sum.successful : null,
    }
  })
}
