/** Streams of events over real sockets: slow readers, callers who may no longer read, and the end of the service. */
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { Caller } from '../../src/domain/caller.ts'
import { createEventStreams, type EventStream, type EventStreamsOptions } from '../../src/north/event-streams.ts'
import { createServer } from '../../src/server/server.ts'
import { silentLog } from '../database.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const caller: Caller = { email: 'a@b.c', organization: 1, organizationName: 'drover', profile: 'viewer' }

async function serve(options: Partial<EventStreamsOptions> = {}) {
  const streams = createEventStreams({ max: 10, perOrganizationMax: 10, isStillLetIn: async () => true, ...options })
  const server = createServer({ log: silentLog, bodyBytesMax: 1_000, compress: true })
  const opened = Promise.withResolvers<EventStream>()
  server.decorateRequest('caller')
  server.addHook('preClose', async () => streams.close())
  server.get('/events', async (request, reply) => {
    request.caller = caller
    const stream = streams.open(request, reply)
    opened.resolve(stream)
    return stream.answer()
  })
  closers.push(() => server.close())
  await server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.server.address() as AddressInfo
  const socket: Socket = connect(port, '127.0.0.1')
  closers.push(() => socket.destroy())
  socket.on('error', () => {})
  socket.write('GET /events HTTP/1.1\r\nhost: drover\r\naccept-encoding: gzip\r\n\r\n')
  const stream = await opened.promise
  const over = new Promise<void>(resolve => stream.whenOver(resolve))
  return { server, streams, stream, socket, over }
}

const closed = (socket: Socket) => new Promise<void>(resolve => socket.once('close', () => resolve()))

test('a reader that takes nothing is dropped before more than a bound waits for it', async () => {
  const { streams, stream, socket, over } = await serve()
  socket.pause()
  let sent = 0
  let isOver = false
  void over.then(() => {
    isOver = true
  })
  const data = 'x'.repeat(60_000)
  while (!isOver) {
    stream.send('job', data)
    sent += data.length
    await new Promise(resolve => setImmediate(resolve))
  }
  // The bound, and what lies in the buffers of two sockets.
  expect(sent).toBeLessThan(32 * 1_048_576)
  expect(streams.size).toBe(0)
  stream.send('job', 'nothing comes of this')
})

test('a stream lives by its comments, and ends once its caller is no longer let in', async () => {
  let asked = 0
  const { socket, over } = await serve({
    heartbeatMs: 5,
    isStillLetIn: async () => {
      asked += 1
      if (asked === 2) throw new Error('the database is away')
      return asked < 4
    },
  })
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  await over
  await expect.poll(() => text).toMatch(/retry: 2000[\s\S]*(:\n\n[\s\S]*){3}0\r\n\r\n$/)
  expect(text).not.toMatch(/content-encoding/i)
})

test('a reader that goes away makes room', async () => {
  const { streams, socket, over } = await serve({ max: 1 })
  expect(streams.size).toBe(1)
  socket.destroy()
  await over
  expect(streams.size).toBe(0)
})

test('the end of the service ends every stream first, so that nobody waits for them', async () => {
  const { server, streams, socket } = await serve()
  const gone = closed(socket)
  socket.resume()
  await server.close()
  await gone
  expect(streams.size).toBe(0)
})
