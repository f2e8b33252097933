/** A client's HTTP server on loopback that hears notifications and answers as the test tells it. */
import { EventEmitter, on } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export interface HeardNotification {
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface CallbackReceiver {
  /** `http://127.0.0.1:…` */
  readonly url: string
  /** All that was heard, in order. */
  readonly heard: HeardNotification[]
  /** Resolves with all that was heard once it is so many. */
  hears(count: number): Promise<HeardNotification[]>
  /** How requests are answered from now on; 200 with nothing until told. */
  answer(how: (response: ServerResponse, heard: HeardNotification) => void): void
}

/** Starts a receiver that ends with the test. */
export async function createCallbackReceiver(): Promise<CallbackReceiver> {
  const heard: HeardNotification[] = []
  const news = new EventEmitter()
  let respond = (response: ServerResponse, _heard: HeardNotification): void => {
    response.end()
  }
  const server = createServer((request, response) => {
    void text(request).then(body => {
      const one = { path: request.url ?? '', method: request.method ?? '', headers: request.headers, body }
      heard.push(one)
      respond(response, one)
      news.emit('heard')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    async hears(count) {
      const listening = on(news, 'heard')
      while (heard.length < count) await listening.next()
      await listening.return?.()
      return [...heard]
    },
    answer(how) {
      respond = how
    },
  }
}
