/** The door of clients without its lock: routes on a server whose caller is given, answering errors with their code. */
import Fastify, { type FastifyInstance } from 'fastify'
import type { Caller } from '../../src/domain/caller.ts'
import { DroverError } from '../../src/domain/errors.ts'

const STATUS = { invalid: 400, unauthorized: 401, forbidden: 403, unknown: 404 } as Record<string, number>

export interface Answer {
  status: number
  headers: Record<string, unknown>
  text: string
  body: Record<string, unknown>
}

export interface Door {
  caller: Caller
  app: FastifyInstance
  ask(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
}

export function openDoor(caller: Caller, register: (app: FastifyInstance) => void): Door {
  const app = Fastify()
  app.decorateRequest('caller')
  app.addHook('onRequest', async request => {
    request.caller = door.caller
  })
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof DroverError)) throw error
    const { entry, message, context } = error
    return reply.status(STATUS[entry.kind] ?? 500).send({ errors: [{ code: entry.code, message, context }] })
  })
  app.setSerializerCompiler(() => data => JSON.stringify(data))
  register(app)
  const door: Door = {
    caller,
    app,
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
  return door
}
