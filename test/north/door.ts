/** The door of clients without its lock: routes on the real server, with a caller that is given. */
import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../src/domain/caller.ts'
import { createServer } from '../../src/server/server.ts'
import { silentLog } from '../database.ts'

export interface Answer {
  status: number
  headers: Record<string, unknown>
  text: string
  body: Record<string, unknown>
}

export interface Door {
  ask(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
}

/** Opens a door for one caller. Nothing listens. */
export function openDoor(caller: Caller, register: (app: FastifyInstance) => void): Door {
  const app = createServer({ log: silentLog, bodyBytesMax: 307_200 })
  app.decorateRequest('caller')
  app.addHook('onRequest', async request => {
    request.caller = caller
  })
  register(app)
  return {
    async ask(method, url, body, headers = {}) {
      const answer = await app.inject({
        method,
        url,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { payload: JSON.stringify(body) }),
      })
      const json = String(answer.headers['content-type'] ?? '').includes('json')
      return { status: answer.statusCode, headers: answer.headers, text: answer.body, body: json ? answer.json() : {} }
    },
  }
}
