/** Every request behind the door of clients has its caller, once authenticated. How it is found is the door's business. */
import type {} from '@fastify/swagger'
import type { Caller } from '../domain/caller.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    /** the `traceparent` of this request, where it is recorded */
    trace?: string
  }
}
