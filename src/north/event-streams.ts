/**
 * Server-sent events: streams that are counted, kept alive, judged again while they last, and dropped where their reader is slow.
 * Nothing is kept for a reader beyond a bound. It knows no event.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import './request-caller.ts'
import { DroverError } from '../domain/errors.ts'

export interface EventStreamsOptions {
  /** streams of this process at most, and of one organization on it */
  readonly max: number
  readonly perOrganizationMax: number
  /** whether who opened a stream may still read it */
  readonly isStillLetIn: (request: FastifyRequest) => Promise<boolean>
  /** milliseconds between two signs of life */
  readonly heartbeatMs?: number
}

export interface EventStream {
  /** Sends an event; nothing once the stream is over. */
  send(event: string, data: string, id?: string): void
  /** Called once when the stream is over, at once where it is. */
  whenOver(call: () => void): void
  /** Ends what was sent so far; the client comes again with the last id. */
  end(): void
  /** Answers the request with the stream. */
  answer(): FastifyReply
}

export interface EventStreams {
  /** Opens a stream for the caller of a request; fails with `tooMany` where there are as many as may be. */
  open(request: FastifyRequest, reply: FastifyReply): EventStream
  /** Ends every stream, and takes no more. */
  close(): void
  readonly size: number
}

/** Between two signs of life. */
export const HEARTBEAT_MS = 15_000
/** Bytes that may wait for a reader. */
export const UNSENT_MAX = 1_048_576
/** When a client that lost its stream comes again. */
export const RECONNECT_MS = 2_000
const RETRY_AFTER_MS = 5_000

interface Open extends EventStream {
  readonly organization: number
  beat(): Promise<void>
}

export function createEventStreams(options: EventStreamsOptions): EventStreams {
  const { max, perOrganizationMax, isStillLetIn, heartbeatMs = HEARTBEAT_MS } = options
  const streams = new Set<Open>()
  let closed = false
  let beating: NodeJS.Timeout | null = null

  function judge(organization: number): void {
    if (closed) throw new DroverError('stopping', [], undefined, RECONNECT_MS)
    const own = [...streams].filter(stream => stream.organization === organization).length
    if (streams.size >= max || own >= perOrganizationMax) {
      throw new DroverError('tooMany', [], 'Too many live streams are open.', RETRY_AFTER_MS)
    }
  }

  function beat(): void {
    for (const stream of streams) void stream.beat()
  }

  function add(stream: Open): void {
    streams.add(stream)
    beating ??= setInterval(beat, heartbeatMs).unref()
    stream.whenOver(() => {
      streams.delete(stream)
      if (streams.size > 0 || beating === null) return
      clearInterval(beating)
      beating = null
    })
  }

  return {
    open(request, reply) {
      judge(request.caller.organization)
      const stream = openStream(request, reply, isStillLetIn)
      add(stream)
      return stream
    },
    close() {
      closed = true
      for (const stream of streams) stream.end()
    },
    get size() {
      return streams.size
    },
  }
}

function openStream(
  request: FastifyRequest,
  reply: FastifyReply,
  isStillLetIn: EventStreamsOptions['isStillLetIn'],
): Open {
  const body = new Readable({ read() {} })
  const calls: (() => void)[] = []
  let over = false
  let unsentBefore = 0

  function finish(): void {
    if (over) return
    over = true
    for (const call of calls) call()
  }
  body.once('close', finish)
  reply.raw.once('close', finish)

  const unsent = () => body.readableLength + reply.raw.writableLength

  function drop(reason: string): void {
    request.log.info(
      { reqId: request.id, organization: request.caller.organization, reason },
      'a live stream was dropped',
    )
    finish()
    reply.raw.destroy()
    body.destroy()
  }

  function write(text: string): void {
    if (over) return
    if (unsent() > UNSENT_MAX) drop('its reader is too slow')
    else body.push(text)
  }

  function end(): void {
    if (over) return
    finish()
    body.push(null)
  }

  write(`retry: ${RECONNECT_MS}\n\n`)
  return {
    organization: request.caller.organization,
    send(event, data, id) {
      write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`)
    },
    whenOver(call) {
      if (over) call()
      else calls.push(call)
    },
    end,
    answer: () =>
      reply
        .type('text/event-stream; charset=utf-8')
        .header('cache-control', 'no-store, no-transform')
        // A proxy that gathers answers would hold events back.
        .header('x-accel-buffering', 'no')
        .send(body),
    async beat() {
      const unsentNow = unsent()
      if (unsentBefore > 0 && unsentNow >= unsentBefore) return drop('its reader takes nothing')
      unsentBefore = unsentNow
      // Where it cannot be asked, the stream goes on until it can.
      const letIn = await isStillLetIn(request).catch(error => !(error instanceof DroverError))
      if (letIn) write(':\n\n')
      else end()
    },
  }
}
