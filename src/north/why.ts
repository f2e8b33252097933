/** The route that explains an operation. It only reads. Serves: Endpoints (Jobs). */
import type { FastifyInstance } from 'fastify'
import './request-caller.ts'
import { Type } from 'typebox'
import { type GateView, WhyView } from '../contract/why.ts'
import { DroverError } from '../domain/errors.ts'
import type { Gate } from '../domain/gates.ts'
import { jobId, type OperationKey, operationId, parseOperationId } from '../domain/identity.ts'
import { type Instant, writeInstant } from '../domain/instants.ts'
import type { ExplainedOperation, Why } from '../engine/why.ts'

export interface WhyRoutesParts {
  readonly why: Why
}

/** Registers the route that explains an operation. */
export function whyRoutes(app: FastifyInstance, { why }: WhyRoutesParts): void {
  app.get(
    '/operation/jobs/:jobId/operations/:operationId/why',
    {
      schema: {
        tags: ['jobs'],
        summary: 'Why an operation is where it is, and what will move it next',
        params: Type.Object({ jobId: Type.String(), operationId: Type.String() }),
        response: { 200: WhyView },
      },
    },
    async request => {
      const asked = request.params as { jobId: string; operationId: string }
      const key = parseOperationId(asked.operationId)
      if (!key || jobId(key.job) !== asked.jobId) throw new DroverError('unknown', [{ name: 'operationId' }])
      const explained = await why.explain(request.caller.organization, key)
      if (!explained) throw new DroverError('unknown', [{ name: 'operationId' }])
      return whyView(key, explained)
    },
  )
}

const dated = (at: Instant | null) => (at === null ? null : writeInstant(at))

/** A closed gate as it travels. */
export const gateView = (closed: Gate): GateView => ({
  ...closed,
  fields: { ...closed.fields },
  liftsAt: dated(closed.liftsAt),
})

function whyView(
  key: OperationKey,
  { status, attempt, attemptsMax, explainedAt, held, next }: ExplainedOperation,
): WhyView {
  return {
    operationId: operationId(key),
    jobId: jobId(key.job),
    status,
    attempts: { total: attemptsMax, current: attempt },
    date: explainedAt.toISOString(),
    held: held.map(gateView),
    next: next.map(each => ({ ...each, at: dated(each.at) })),
  }
}
