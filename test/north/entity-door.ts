/** The routes of entities on the service's own server, with a caller that is given and acts where the path says. */
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Profile } from '../../src/domain/caller.ts'
import { DroverError } from '../../src/domain/errors.ts'
import type { EntityOwner } from '../../src/engine/entities.ts'
import { createServer } from '../../src/server/server.ts'
import { silentLog } from '../database.ts'

export interface EntityDoor {
  readonly server: FastifyInstance
  ask(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, body?: unknown): Promise<LightMyRequestResponse>
}

/** Addresses are under `/north/v80/provision/organizations/{the caller's}`, or whole where they begin with `/north`. */
export function openEntityDoor(
  owner: EntityOwner,
  register: (app: FastifyInstance) => void,
  profile: Profile = 'advanced',
): EntityDoor {
  const server = createServer({ log: silentLog, bodyBytesMax: 307_200 })
  server.decorateRequest('caller')
  server.addHook('onRequest', async request => {
    const { organization } = request.params as { organization?: string }
    if (organization !== undefined && organization !== owner.organizationName)
      throw new DroverError('organizationNotExists', [{ name: 'organization', value: organization }])
    request.caller = { ...owner, email: 'a@b.c', profile }
  })
  server.register(async app => register(app), { prefix: '/north/v80' })
  return {
    server,
    ask(method, url, body) {
      const own = `/north/v80/provision/organizations/${owner.organizationName}`
      const options: InjectOptions = { method, url: url.startsWith('/north') ? url : `${own}${url}` }
      if (body !== undefined) Object.assign(options, { payload: body, headers: { 'content-type': 'application/json' } })
      return server.inject(options)
    },
  }
}
