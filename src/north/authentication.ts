/**
 * Lets callers in: by token or by key, into one organization, as far as their profile goes. What they do there is the routes'
 * business. Serves: Authentication.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import './request-caller.ts'
import { bearerToken } from '../contract/bearer.ts'
import { type Caller, may, type Permission } from '../domain/caller.ts'
import { DroverError } from '../domain/errors.ts'
import type { Access } from '../engine/access.ts'
import type { Organizations } from '../engine/organizations.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Who may come in: `open` to everybody, `read` to every caller, `own` to every caller and audited, else whoever has the
     * permission. Left out, a search and a GET are `read`, everything else `execute`, which all but viewers have.
     */
    access?: 'open' | 'read' | 'own' | Permission
  }
}

export interface AuthenticationParts {
  readonly access: Access
  readonly organizations: Organizations
  /** whether clients may use API keys here */
  readonly apiKeys: boolean
}

/** What a route asks of its caller. */
export function accessOf({ routeOptions, method }: FastifyRequest): 'open' | 'read' | 'own' | Permission {
  const { config, url = '' } = routeOptions
  if (config.access) return config.access
  const searches = /\/search(\/|$)/.test(url)
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || searches ? 'read' : 'execute'
}

async function callerOf(
  request: FastifyRequest,
  { access, apiKeys }: AuthenticationParts,
): Promise<Caller | undefined> {
  const { authorization } = request.headers
  const key = request.headers['x-apikey']
  if (authorization !== undefined) {
    const token = bearerToken(authorization)
    return token === undefined ? undefined : access.byToken(token)
  }
  return apiKeys && typeof key === 'string' && key !== '' ? access.byKey(key) : undefined
}

/**
 * Whether the caller of a request that is still being answered would be let in again: the credentials are good, and the user is in
 * the same organization with the same profile.
 */
export async function isStillLetIn(request: FastifyRequest, parts: AuthenticationParts): Promise<boolean> {
  const present = await callerOf(request, parts)
  if (present?.email !== request.caller.email || present.profile !== request.caller.profile) return false
  const { organization } = request.params as { organization?: string }
  const acting = organization === undefined ? present : await parts.organizations.actingIn(present, organization)
  return acting.organization === request.caller.organization
}

/** The hooks of the door, for every route registered after it in the same scope. */
export function authenticate(app: FastifyInstance, parts: AuthenticationParts): void {
  app.decorateRequest('caller')
  // Before the body is read: who may not speak is not listened to.
  app.addHook('onRequest', async (request, reply) => {
    const asked = accessOf(request)
    if (asked === 'open') return
    const caller = await callerOf(request, parts)
    if (!caller) {
      reply.header('www-authenticate', 'Bearer')
      throw new DroverError('unauthorized')
    }
    request.caller = caller
    if (caller.mustChangePassword && asked !== 'own' && asked !== 'read') {
      throw new DroverError('forbidden', [{ name: 'user.forcePasswordChange' }], 'The password must be changed first.')
    }
    if (asked !== 'read' && asked !== 'own' && !may(caller.profile, asked)) throw new DroverError('forbidden')
    // `organization` in a path is where the caller acts; of another one it learns nothing, not even that it exists.
    const { organization } = request.params as { organization?: string }
    if (organization !== undefined) request.caller = await parts.organizations.actingIn(caller, organization)
  })
}
