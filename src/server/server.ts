/**
 * The HTTP server that both doors share: bodies, errors, request ids and its own health. It knows no other route; the doors bring
 * theirs as plugins.
 */
import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify'
import type { Logger } from 'pino'
import { DroverError } from '../domain/errors.ts'
import { takeJsonOnly } from './body.ts'
import { compressAnswers } from './compression.ts'
import { answerError, answerErrors, errorBody } from './errors.ts'
import { judgeBySchema } from './validation.ts'

export interface ServerOptions {
  log: Logger
  /** The largest body, in bytes, where a route does not say otherwise. */
  bodyBytesMax: number
  /** Resolves where the service can take work now. */
  ready?: () => Promise<unknown>
  /** Addresses and networks of proxies in front that tell the client's address. */
  trustedProxies?: readonly string[]
  /** Origins whose pages may call from a browser; `*` for any. */
  origins?: readonly string[]
  /** Whether long answers are compressed for clients that take it. */
  compress?: boolean
  /** How long `close` waits for requests in hand before it cuts their connections; 10 s unless told. */
  drainMs?: number
}

/** Longer than any id of ours, percent-encoded. */
const segmentLengthMax = 2_048
/** How long a client may take to send its request; answers are not bounded by it. */
const requestTimeoutMs = 30_000
const requestId = /^[\w.:+/=-]{1,128}$/
const exposedHeaders = 'location, x-apikey, x-request-id, retry-after, content-disposition'

function isForHealth(url: string): boolean {
  return url.startsWith('/health/')
}

/** Lets pages of the given origins call. */
function allowOrigins(server: FastifyInstance, origins: readonly string[]): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    reply.header('access-control-expose-headers', exposedHeaders)
    if (origins.length === 0) return done()
    reply.header('vary', 'origin')
    if (origin === undefined) return done()
    if (!origins.includes('*') && !origins.includes(origin)) return done()
    reply.header('access-control-allow-origin', origin)
    if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return done()
    reply.header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
    reply.header('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '')
    reply.header('access-control-max-age', '600')
    reply.status(204).send()
  })
}

/**
 * Makes the server. It listens when told to, `inject` works without. `close` first turns readiness and every new request to 503,
 * then stops accepting, then waits for the requests in hand.
 */
export function createServer(options: ServerOptions): FastifyInstance {
  let stopping = false
  const loggerInstance: FastifyBaseLogger = options.log
  const server = Fastify({
    loggerInstance,
    // A line per request costs a fifth of the throughput; metrics and the audit log count them.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: options.bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    trustProxy: options.trustedProxies?.length ? [...options.trustedProxies] : false,
    routerOptions: { maxParamLength: segmentLengthMax },
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    genReqId: request => {
      const given = request.headers['x-request-id']
      return typeof given === 'string' && requestId.test(given) ? given : randomUUID()
    },
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply)
    },
    clientErrorHandler: (_error, socket) => {
      // What came is no HTTP that could be answered in the usual way.
      if (!socket.writable) return
      const body = JSON.stringify(errorBody(new DroverError('malformed', [{ name: 'request' }])))
      socket.end(
        `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    },
  })
  // A log of its own for each request costs more than its routing does; what is logged of a request names it.
  server.setChildLoggerFactory(logger => logger)
  takeJsonOnly(server)
  answerErrors(server)
  judgeBySchema(server)

  server.addHook('preClose', async () => {
    stopping = true
    // A connection that is kept alive is not idle for long: without this the last would be cut, ten seconds later.
    server.server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
    server.server.keepAliveTimeout = 1
    setTimeout(() => server.server.closeAllConnections(), options.drainMs ?? 10_000).unref()
  })
  // First of all: a page is to read refusals, too.
  allowOrigins(server, options.origins ?? [])
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done(refusalOf(request))
  })

  function refusalOf({ url, headers }: FastifyRequest): DroverError | undefined {
    if (stopping && !isForHealth(url)) return new DroverError('stopping')
    if (/%00/.test(url)) return new DroverError('malformed', [{ name: 'path', value: 'holds %00' }])
    const encoded = (headers['content-encoding'] ?? 'identity') !== 'identity'
    return encoded ? new DroverError('notJson', [{ name: 'content-encoding' }]) : undefined
  }

  if (options.compress) compressAnswers(server)

  server.get('/health/live', async () => ({ status: 'live' }))
  server.get('/health/ready', async () => {
    if (stopping) throw new DroverError('stopping', [], undefined, 1_000)
    try {
      await options.ready?.()
    } catch {
      throw new DroverError('notReady', [{ name: 'reason', value: 'it cannot be asked' }], undefined, 1_000)
    }
    return { status: 'ready' }
  })
  return server
}
