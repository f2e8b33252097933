/**
 * Leaves a line in the audit log for every request that changes something, refused ones too, and for every login, before its answer
 * goes out. It looks at no body but for the email of a login, and keeps no query string.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import './request-caller.ts'
import { cutText } from '../domain/storable.ts'
import { EMAIL_MAX } from '../domain/user.ts'
import type { Audit } from '../engine/audit.ts'
import { accessOf } from './authentication.ts'

const PATH_MAX = 1_000
const TOO_MANY = 429
/** Of a client that was gone before its request was looked at. */
const UNKNOWN_ADDRESS = 'unknown'
const errorCode = /^\{"errors":\[\{"code":"([^"]{1,20})"/

/** Who it was: the caller, or whom a login claimed to be. Nobody, where neither is known: then nothing was tried. */
function userOf({ caller, body }: FastifyRequest): string | undefined {
  if (caller) return caller.email
  const email = (body as { email?: unknown } | null | undefined)?.email
  return typeof email === 'string' ? cutText(email, EMAIL_MAX) : undefined
}

/** What is worth a line; a throttled login is not, or whoever floods the door would flood the log. */
function isWorthALine(request: FastifyRequest, reply: FastifyReply): boolean {
  if (request.is404 || ['GET', 'HEAD', 'OPTIONS'].includes(request.method)) return false
  return accessOf(request) !== 'read' && reply.statusCode !== TOO_MANY
}

/** Registers the hook, for every route registered after it in the same scope. */
export function auditRequests(app: FastifyInstance, audit: Audit): void {
  const unwritten = new WeakSet<FastifyRequest>()
  const addresses = new WeakMap<FastifyRequest, string>()
  // A client that has hung up by the time of the answer has no address any more.
  app.addHook('onRequest', async request => {
    if (request.ip) addresses.set(request, request.ip)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const user = userOf(request)
    // What could not be written once is answered with that failure, which has no line either.
    if (user === undefined || unwritten.has(request) || !isWorthALine(request, reply)) return payload
    unwritten.add(request)
    const recorded = audit.record({
      organization: request.caller?.organization ?? null,
      user,
      address: addresses.get(request) ?? UNKNOWN_ADDRESS,
      method: request.method,
      path: (request.url.split('?')[0] ?? '').slice(0, PATH_MAX),
      status: reply.statusCode,
      errorCode: typeof payload === 'string' ? (errorCode.exec(payload)?.[1] ?? null) : null,
      requestId: request.id,
    })
    // A failure is told as it is: where it could not be written either, the line has nothing to say that the log has not.
    await (reply.statusCode < 500 ? recorded : recorded.catch(() => {}))
    return payload
  })
}
