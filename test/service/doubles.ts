/** Device doubles for a file of tests: listeners on loopback that stay until its last test, one for each way of misbehaving. */
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setInterval as every } from 'node:timers/promises'
import { afterAll } from 'vitest'

/** A request as a double received it. */
export interface Asked {
  readonly id: string
  readonly deviceId: string
  readonly name: string
}

/** Answers a request that was read whole, well or badly. */
export type Manners = (asked: Asked, response: ServerResponse) => void | Promise<void>

/** A device that reads the request whole and answers as told. Resolves with its URL. */
export function politeListener(answer: Manners): Promise<string> {
  return listen(
    createHttpServer((request, response) => {
      response.on('error', () => {})
      text(request)
        .then(body => answer(JSON.parse(body).operation.request, response))
        .catch(() => response.destroy())
    }),
  )
}

/** A device that does with the bare connection as told, once the request has begun to arrive. Resolves with its URL. */
export function rudeListener(behave: (socket: Socket) => void): Promise<string> {
  return listen(createServer(socket => void socket.once('data', () => behave(socket))))
}

/** Writes text after text until the connection ends, never more than the other side takes. */
export function drip(socket: Socket, texts: Iterable<string>, everyMs: number): void {
  const paced = async () => {
    const pending = texts[Symbol.iterator]()
    for await (const _ of every(everyMs)) {
      const next = pending.next()
      if (next.done || socket.destroyed) return
      socket.write(next.value)
    }
  }
  paced().catch(() => {})
}

/** Writes the same text again and again for as long as the other side takes it; in turns, since everyone here shares one thread. */
export function pour(stream: Socket | ServerResponse, flood: string): void {
  const more = () => {
    if (stream.destroyed) return
    if (stream.write(flood)) setImmediate(more)
    else stream.once('drain', more)
  }
  more()
}

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  afterAll(async () => {
    const closed = new Promise(resolve => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/operation/requests`
}
