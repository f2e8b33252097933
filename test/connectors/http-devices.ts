/** Devices that listen on HTTP, well-behaved and otherwise, on real sockets of the loopback interface. */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Listens on a free port until the test is over, on one address of loopback or on all; answers the URL of the device. */
export async function listen(server: Server, address = '127.0.0.1'): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, address, resolve))
  onTestFinished(async () => {
    const closed = new Promise(resolve => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/operation/requests`
}

export interface Received {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** the port that the connection came from */
  readonly port: number | undefined
}

/** A device that reads the request whole and then answers as told. */
export function httpDevice(answer: (received: Received, response: ServerResponse) => void): Promise<string> {
  const server = createHttpServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', chunk => chunks.push(chunk))
    incoming.on('end', () => {
      const { method, url: path, headers } = incoming
      const body = Buffer.concat(chunks).toString()
      answer({ method, path, headers, body, port: incoming.socket.remotePort }, response)
    })
  })
  return listen(server)
}

/** A device that does with the bare connection as told, once the request has begun to arrive. */
export function rawDevice(behave: (socket: Socket) => void, address?: '0.0.0.0'): Promise<string> {
  return listen(
    createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => behave(socket))
    }),
    address,
  )
}

/** A response of a device to the request that it received. */
export function responseTo(received: Received, response: Record<string, unknown>): string {
  const { id, name } = JSON.parse(received.body).operation.request
  return JSON.stringify({ version: '7.0', operation: { response: { id, name, ...response } } })
}
