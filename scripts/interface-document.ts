/** The OpenAPI document of the service, made of its routes alone: nothing listens, and no database is needed. */
import pino from 'pino'
import { type NorthParts, registerNorth } from '../src/north/north.ts'
import { describeInterface } from '../src/server/openapi.ts'
import { createServer } from '../src/server/server.ts'
import type { SouthParts } from '../src/south/parts.ts'
import { south } from '../src/south/south.ts'
import type { OpenApiDocument } from './client-types.ts'

/** The document as `/openapi.json` serves it. */
export async function interfaceDocument(): Promise<OpenApiDocument> {
  const server = createServer({ log: pino({ level: 'silent' }), bodyBytesMax: 1 })
  describeInterface(server)
  // Only asked for when a route is called, and none is.
  registerNorth(server, {} as NorthParts)
  server.register(south, { prefix: '/south/v80', parts: {} as SouthParts })
  const answer = await server.inject('/openapi.json')
  await server.close()
  return answer.json()
}
