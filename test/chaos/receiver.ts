/**
 * A receiver of callbacks that fails half the time: it refuses, or breaks off without an answer. What it did with each is remembered, by job.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { randomOf } from '../../src/simulator/random.ts'

/** One notification as it came, and whether its sender was told that it was taken. */
export interface HeardCall {
  readonly event: string
  readonly at: number
  readonly taken: boolean
}

export interface FailingReceiver {
  readonly url: string
  /** by job id, in the order in which they came */
  readonly heard: ReadonlyMap<string, readonly HeardCall[]>
  close(): void
}

/** So often in a row at most: what is given up after a day must not be waited for here. */
const FAILURES_MAX = 3
const FAILURE = 0.5

export async function openFailingReceiver(seed: number): Promise<FailingReceiver> {
  const heard = new Map<string, HeardCall[]>()
  const server = createServer((request, response) => {
    text(request).then(
      body => {
        const event = request.url?.split('/').at(-1) ?? ''
        const { job } = JSON.parse(body) as { job: { id: string } }
        const calls = heard.get(job.id) ?? []
        heard.set(job.id, calls)
        const before = calls.filter(call => call.event === event)
        const random = randomOf(seed, 'receiver', job.id, event, before.length)
        const taken = before.length >= FAILURES_MAX || random() >= FAILURE
        calls.push({ event, at: Date.now(), taken })
        if (taken) {
          response.end()
          return
        }
        if (random() < 0.5) response.writeHead(503).end()
        else request.socket.destroy()
      },
      () => {},
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
