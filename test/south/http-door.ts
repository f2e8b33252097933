/** The door for devices over HTTP as tests knock at it: on a real port, with stand-ins for what is behind it. */
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { createServer } from '../../src/server/server.ts'
import { type SouthSettings, south } from '../../src/south/south.ts'
import { silentLog } from '../database.ts'
import { type StandIns, standIns } from './parts.ts'

/** Opens a door for `pump-1` until the test is finished; what is behind it is `house`. */
export async function openDoor(settings: SouthSettings = {}, members: Partial<StandIns['parts']> = {}) {
  const house = standIns()
  const server = createServer({ log: silentLog, bodyBytesMax: 307_200 })
  await server.register(south, { prefix: '/south/v80', parts: { ...house.parts, ...members }, settings })
  await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => server.close())
  const { port } = server.server.address() as AddressInfo
  return { house, server, port, url: `http://127.0.0.1:${port}/south/v80/devices/pump-1` }
}

export const key = { 'x-apikey': 'key-of-pump-1' }
export const response = (members: Record<string, unknown>) =>
  JSON.stringify({ version: '7.0', operation: { response: { id: 'op-1', ...members } } })

export function post(url: string, body: string, headers: Record<string, string> = key): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
}

export async function errorsOf(answer: Response): Promise<unknown> {
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  return ((await answer.json()) as { errors: unknown }).errors
}
