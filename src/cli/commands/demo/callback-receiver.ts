/** Receives the notifications of a job on a loopback port, as a client's application would. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface CallbackReceiver {
  /** what to give as the job's `callback` */
  readonly url: string
  /** Resolves with the body of the first notification of that name; fails after `withinMs`. */
  received(name: string, withinMs: number): Promise<unknown>
  close(): void
}

/** Opens a receiver on a free port. */
export async function openCallbackReceiver(): Promise<CallbackReceiver> {
  const bodies = new Map<string, unknown>()
  const watchers = new Set<() => void>()
  const server = createServer((request, response) => {
    const name = (request.url ?? '').split('/').at(-1) ?? ''
    text(request).then(
      body => {
        if (!bodies.has(name)) bodies.set(name, JSON.parse(body))
        response.writeHead(204).end()
        for (const watcher of [...watchers]) watcher()
      },
      () => response.writeHead(400).end(),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/callback`,
    received: (name, withinMs) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!bodies.has(name)) return
          clearTimeout(timer)
          watchers.delete(look)
          resolve(bodies.get(name))
        }
        const timer = setTimeout(() => reject(new Error(`no ${name} came within ${withinMs} ms`)), withinMs)
        watchers.add(look)
        look()
      }),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
