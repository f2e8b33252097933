/** Devices in this process that are called over HTTP, and end the operation in the same exchange: one that says when, and slow ones. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchService } from './processes.ts'

export interface HttpDevice {
  /** as provisioned */
  readonly id: string
  /** When the request of a job came, as `performance.now()` counts. Fails after a minute. */
  requested(job: string): Promise<number>
  /** The same of the next request, of whatever job. */
  next(): Promise<number>
  stop(): Promise<void>
}

const WITHIN_MS = 60_000

interface RequestBody {
  readonly operation: { readonly request: { readonly id: string; readonly name: string } }
}

/** Provisions a device at an address of its own. */
export async function httpDevice({ client }: BenchService, id: string): Promise<HttpDevice> {
  const came = new Map<string, PromiseWithResolvers<number>>()
  const of = (job: string) => {
    const known = came.get(job) ?? Promise.withResolvers<number>()
    came.set(job, known)
    return known
  }
  let nextCame = Promise.withResolvers<number>()
  const { url, stop } = await listen((operation, at) => {
    // An operation's id begins with that of its job.
    of(operation.split('-')[0]!).resolve(at)
    nextCame.resolve(at)
  })
  await client.call('POST /provision/organizations/{organization}/devices', {
    path: { organization: 'drover' },
    query: { flattened: true },
    body: {
      'provision.device.identifier': value(id),
      'provision.device.operation.flow': value('http'),
      'provision.device.operation.url': value(url),
    },
  })
  return {
    id,
    requested(job) {
      return inTime(of(job), `no request of job ${job} came`).finally(() => came.delete(job))
    },
    next() {
      nextCame = Promise.withResolvers<number>()
      return inTime(nextCame, 'no request came')
    },
    stop,
  }
}

function inTime(coming: PromiseWithResolvers<number>, otherwise: string): Promise<number> {
  const timer = setTimeout(() => coming.reject(new Error(otherwise)), WITHIN_MS)
  return coming.promise.finally(() => clearTimeout(timer))
}

/** An address that answers for any number of devices, each time after a while. */
export function slowHost(answersAfterMs: number): Promise<Listening> {
  return listen(() => sleep(answersAfterMs))
}

interface Listening {
  readonly url: string
  stop(): Promise<void>
}

/** Answers each request that its operation was successful, once `seen` has settled. */
async function listen(seen: (operation: string, at: number) => void | Promise<void>): Promise<Listening> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const at = performance.now()
    const { id, name } = (JSON.parse(await text(request)) as RequestBody).operation.request
    await seen(id, at)
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ operation: { response: { id, name, resultCode: 'SUCCESSFUL', steps: [] } } }))
  }
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const value = (of: string) => ({ _value: { _current: { value: of } } })
