/** A device in this process that is called over HTTP: it says when each request came, and ends the operation in the same exchange. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { BenchService } from './processes.ts'

export interface HttpDevice {
  /** as provisioned */
  readonly id: string
  /** When the request of a job came, as `performance.now()` counts. Fails after a minute. */
  requested(job: string): Promise<number>
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
  const server = createServer((request, response) => {
    const at = performance.now()
    text(request).then(
      body => {
        const { operation } = JSON.parse(body) as RequestBody
        const { id, name } = operation.request
        // An operation's id begins with that of its job.
        of(id.split('-')[0]!).resolve(at)
        response.writeHead(201, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ operation: { response: { id, name, resultCode: 'SUCCESSFUL', steps: [] } } }))
      },
      () => response.destroy(),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await client.call('POST /provision/organizations/{organization}/devices', {
    path: { organization: 'drover' },
    query: { flattened: true },
    body: {
      'provision.device.identifier': value(id),
      'provision.device.operation.flow': value('http'),
      'provision.device.operation.url': value(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    },
  })
  return {
    id,
    requested(job) {
      const timer = setTimeout(() => of(job).reject(new Error(`no request of job ${job} came`)), WITHIN_MS)
      return of(job).promise.finally(() => {
        clearTimeout(timer)
        came.delete(job)
      })
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const value = (of: string) => ({ _value: { _current: { value: of } } })
