/**
 * How a refusal or a failure reaches a client: one shape, one mapping from the registry's kinds to a status. It tells nothing of
 * what failed inside; that goes to the log, under the request id.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DroverError, type ErrorKind } from '../domain/errors.ts'
import { isUnavailable } from '../store/database.ts'

/** The status of each kind of refusal. Serves: Errors. */
export const STATUS_OF: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  unknown: 404,
  tooLarge: 413,
  notJson: 415,
  tooMany: 429,
  stopping: 503,
  fault: 500,
}

/** How soon to ask again when the database could not be had, and where a refusal does not say. */
const AWAY_RETRY_MS = 2_000
const RETRY_AFTER_MS = 1_000
/** Over so long those come again that were turned away together: not all in the same second. */
const RETRY_SPREAD_MS = 5_000

/** The body of every answer that is not a success. */
export interface ErrorBody {
  readonly errors: readonly {
    readonly code: string
    readonly message: string
    readonly context?: readonly { readonly name: string; readonly value?: unknown }[]
  }[]
}

/** Writes a refusal as clients read it. */
export function errorBody({ entry, message, context }: DroverError): ErrorBody {
  return { errors: [{ code: entry.code, message, ...(context.length > 0 && { context }) }] }
}

/** What the server itself refuses before a route is reached, in the words of the registry. */
const OWN_REFUSALS: Readonly<Record<string, (error: Error) => DroverError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new DroverError('tooLarge', [{ name: 'body' }]),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new DroverError('notJson', [{ name: 'content-type' }]),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new DroverError('malformed', [{ name: 'content-length', value: 'is not the length of the body' }]),
  FST_ERR_BAD_URL: () => new DroverError('malformed', [{ name: 'path', value: 'is not well percent-encoded' }]),
  FST_ERR_MAX_PARAM_LENGTH: () => new DroverError('unknown', [{ name: 'path', value: 'longer than any id' }]),
}

/** Whatever was thrown, as what the client is told. */
function refusalOf(error: unknown): DroverError {
  if (error instanceof DroverError) return error
  if (!(error instanceof Error)) return new DroverError('fault')
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  const own = typeof code === 'string' ? OWN_REFUSALS[code] : undefined
  if (own) return own(error)
  // Nobody is at fault who asked: the same request may go through a moment later, here or at another process.
  if (isUnavailable(error)) return new DroverError('unavailable', [], undefined, AWAY_RETRY_MS + spread())
  // The body's stream broke off, or the like: the client's side of the exchange failed, not ours.
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) return new DroverError('malformed')
  return new DroverError('fault')
}

const spread = () => Math.random() * RETRY_SPREAD_MS

/** Answers a thrown thing, and logs it where it is a fault of ours. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = refusalOf(error)
  if (isUnavailable(error))
    request.log.warn({ err: error, req: request }, 'a request was refused: the database is away')
  if (refusal.entry.kind === 'fault') request.log.error({ err: error, req: request }, 'a request failed')
  const { kind } = refusal.entry
  const retryAfterMs =
    refusal.retryAfterMs ?? (kind === 'tooMany' || kind === 'stopping' ? RETRY_AFTER_MS + spread() : undefined)
  if (retryAfterMs !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(retryAfterMs / 1000)))
  return reply.status(STATUS_OF[refusal.entry.kind]).type('application/json').send(errorBody(refusal))
}

/** Gives a server the one error handler, and the same shape for a path that nobody serves. */
export function answerErrors(server: FastifyInstance): void {
  server.setErrorHandler((error, request, reply) => answerError(error, request, reply))
  server.setNotFoundHandler((request, reply) =>
    answerError(new DroverError('unknown', [{ name: 'path', value: request.url.split('?')[0] }]), request, reply),
  )
}
