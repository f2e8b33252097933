/**
 * Compresses long answers for clients that take it. It leaves alone what streams without end, what is small, and what holds keys or
 * tokens: beside words that a stranger chose, the length of a compressed secret tells of it.
 */
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The answer holds a key or a token: it is never compressed. */
    holdsSecret?: boolean
  }
}

/** Bytes below which it gains nothing: such an answer fits into a few packets. */
const LEAST = 4_096
const COMPRESSIBLE = /^(application\/(.+\+)?json|text\/(?!event-stream)|application\/openmetrics-text)/
/** Quick rather than small: answers are made once and sent once. */
const BROTLI = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }
const GZIP = { level: 4 }

const ENCODINGS = {
  br: {
    whole: promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliCompress),
    options: BROTLI,
    stream: () => zlib.createBrotliCompress({ ...BROTLI, flush: zlib.constants.BROTLI_OPERATION_PROCESS }),
  },
  gzip: {
    whole: promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gzip),
    options: GZIP,
    stream: () => zlib.createGzip(GZIP),
  },
} as const
type Encoding = keyof typeof ENCODINGS

/** The best of ours that a client takes, by its `Accept-Encoding`; undefined where it takes none. */
function wantedEncoding(header: string | undefined): Encoding | undefined {
  const weights = new Map<string, number>()
  for (const part of (header ?? '').toLowerCase().split(',').slice(0, 20)) {
    const [name = '', ...parameters] = part.split(';').map(each => each.trim())
    const q = parameters.find(each => each.startsWith('q='))
    weights.set(name, q === undefined ? 1 : Number(q.slice(2)) || 0)
  }
  const weightOf = (name: Encoding) => weights.get(name) ?? weights.get('*') ?? 0
  const [br, gzip] = [weightOf('br'), weightOf('gzip')]
  if (br > 0 && br >= gzip) return 'br'
  return gzip > 0 ? 'gzip' : undefined
}

function mayCompress(request: FastifyRequest, reply: FastifyReply): boolean {
  const type = String(reply.getHeader('content-type') ?? '')
  return (
    request.method !== 'HEAD' &&
    request.routeOptions.config?.holdsSecret !== true &&
    reply.statusCode !== 204 &&
    !reply.hasHeader('content-encoding') &&
    !String(reply.getHeader('cache-control') ?? '').includes('no-transform') &&
    COMPRESSIBLE.test(type)
  )
}

/** Has a server compress its answers. To be called before its routes are registered. */
export function compressAnswers(server: FastifyInstance): void {
  server.addHook('onSend', async (request, reply, payload: unknown) => {
    if (payload === null || payload === undefined || !mayCompress(request, reply)) return payload
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload)
    if (isText && Buffer.byteLength(payload) < LEAST) return payload
    if (!isText && !(payload instanceof Readable)) return payload
    // Whatever keeps this answer must know that another client gets another one.
    const vary = String(reply.getHeader('vary') ?? '')
    reply.header('vary', vary === '' ? 'accept-encoding' : `${vary}, accept-encoding`)
    const encoding = wantedEncoding(request.headers['accept-encoding'])
    if (encoding === undefined) return payload
    reply.header('content-encoding', encoding)
    reply.removeHeader('content-length')
    const { whole, options, stream } = ENCODINGS[encoding]
    if (!isText) return compressed(payload, stream())
    return await whole(typeof payload === 'string' ? Buffer.from(payload) : payload, options)
  })
}

/** Ends both where either ends early: the rows behind a file hold a connection to the database. */
function compressed(rows: Readable, through: zlib.BrotliCompress | zlib.Gzip): Readable {
  rows.once('error', error => through.destroy(error))
  through.once('close', () => rows.destroy())
  return rows.pipe(through)
}
