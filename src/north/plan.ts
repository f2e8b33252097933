/** The route that plans a job: the body of its creation, and nothing run. Serves: Job request. */
import type { FastifyInstance } from 'fastify'
import { JobBody, TargetQuery } from '../contract/job.ts'
import { PlanView } from '../contract/plan.ts'
import { type Instant, writeInstant } from '../domain/instants.ts'
import type { TargetReport } from '../domain/job.ts'
import { type JobRequestRules, parseJobBody } from '../domain/job-request.ts'
import type { JobPlan, Planner } from '../engine/plan.ts'
import { judgedByReader, mustExecute, readTargetQuery } from './jobs.ts'

export interface PlanRoutesParts {
  readonly planner: Planner
  readonly rules: JobRequestRules
}

/** Registers the route that plans a job. */
export function planRoutes(app: FastifyInstance, { planner, rules }: PlanRoutesParts): void {
  app.post(
    '/operation/jobs/plan',
    {
      schema: {
        tags: ['jobs'],
        summary: 'Plan a job without running it',
        querystring: TargetQuery,
        body: JobBody,
        response: { 200: PlanView },
      },
      validatorCompiler: judgedByReader,
    },
    async request => {
      mustExecute(request)
      const asked = parseJobBody(request.body, rules, { resourceType: readTargetQuery(request.query) })
      return planView(await planner.plan(request.caller, asked))
    },
  )
}

const dated = (at: Instant | null) => (at === null ? null : writeInstant(at))

function planView({ total, types, refused, refusal, layout, launches, strategy, warnings }: JobPlan): PlanView {
  const { launching, stopAt, effectiveMs, drainReserveMs } = layout
  const { spreadMs } = launching
  return {
    target: {
      total,
      resourceTypes: Object.fromEntries(types.map(({ resourceType, count }) => [resourceType, count])),
      refusals: refusalsView(refused),
    },
    ...(refusal && { error: refusal }),
    launch: {
      startDate: writeInstant(launching.launchAt),
      stopDate: dated(stopAt),
      firstLaunchDate: dated(launches.firstLaunchAt),
      lastLaunchDate: dated(launches.lastLaunchAt),
      expectedEndDate: writeInstant(launches.endsAt),
      perHour: launches.perHour.map(hour => ({ date: writeInstant(hour.at), launches: hour.launches })),
      launchesLater: launches.launchesLater,
      notLaunched: launches.notLaunched,
      mayNotEnd: launches.mayNotEnd,
      windows: launches.windows.map(({ opensAt, closesAt }) => ({
        opensDate: writeInstant(opensAt),
        closesDate: writeInstant(closesAt),
      })),
    },
    scattering: {
      effectiveMs,
      drainReserveMs,
      spreadMs,
      operationsPerSecond: spreadMs > 0 ? (total * 1000) / spreadMs : null,
      ...(strategy && {
        groupCount: strategy.groups,
        groups: strategy.list.map(({ value, operations, firstLaunchAt, lastLaunchAt, rate }) => ({
          value,
          operations,
          firstLaunchDate: writeInstant(firstLaunchAt),
          lastLaunchDate: writeInstant(lastLaunchAt),
          operationsPerSecond: rate,
        })),
      }),
    },
    warnings: warnings.map(warning => ({ ...warning })),
  }
}

const REFUSAL_WORDS = {
  notProvisioned: 'The organization has no entity of this identifier.',
  notAllowed: 'The operation type does not apply to the type or model of the entity.',
  duplicated: 'The entity is named more than once, and gets one operation.',
} as const

function refusalsView(refused: TargetReport): PlanView['target']['refusals'] {
  return (['notProvisioned', 'notAllowed', 'duplicated'] as const).flatMap(reason => {
    const ids = refused[reason]
    if (ids === undefined) return []
    const { count, first } = 'first' in ids ? ids : { count: ids.length, first: ids }
    return [{ reason, words: REFUSAL_WORDS[reason], count, entities: [...first] }]
  })
}
