/** The route by which administrators have the counters and rows of their jobs verified, part by part. It only reads. */
import type { FastifyInstance } from 'fastify'
import './request-caller.ts'
import { Type } from 'typebox'
import { VERIFY_SIZE_DEFAULT, VERIFY_SIZE_MAX, VerifyView } from '../contract/verify.ts'
import { may } from '../domain/caller.ts'
import { DroverError } from '../domain/errors.ts'
import { jobId, parseJobId } from '../domain/identity.ts'
import type { Verify } from '../engine/verify.ts'

/** Clients give up after five seconds: a call ends after the batch in which this time is over. */
const CALL_MS = 2_000

export interface VerifyRoutesParts {
  readonly verification: Verify
}

/** Registers the route of verification. */
export function verifyRoutes(app: FastifyInstance, { verification }: VerifyRoutesParts): void {
  app.get(
    '/operation/verify',
    {
      schema: {
        tags: ['jobs'],
        summary: 'Recount the jobs of the organization from their rows',
        querystring: Type.Object({
          after: Type.Optional(Type.String({ description: 'The `next` of the call before' })),
          size: Type.Optional(Type.Integer({ minimum: 1, maximum: VERIFY_SIZE_MAX, default: VERIFY_SIZE_DEFAULT })),
        }),
        response: { 200: VerifyView },
      },
    },
    async (request): Promise<VerifyView> => {
      if (!may(request.caller.profile, 'manageUsers')) throw new DroverError('forbidden')
      const { after, size = VERIFY_SIZE_DEFAULT } = request.query as { after?: string; size?: number }
      const from = after === undefined ? 0n : parseJobId(after)
      if (from === undefined) throw new DroverError('invalidField', [{ name: 'after' }], 'Invalid field: after.')
      const done = await verification.verify(
        request.caller.organization,
        from,
        size,
        AbortSignal.any([request.signal, AbortSignal.timeout(CALL_MS)]),
      )
      return {
        jobs: done.jobs,
        differences: [...done.differences],
        ...(done.next !== null && { next: jobId(done.next) }),
      }
    },
  )
}
