/**
 * Serves the built console at `/console`, where `/` leads: its files from memory, and its page for every address below, since each
 * view has one of its own. It knows nothing of what the console does; without a build it says how to make one.
 */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Nothing inline, nothing from elsewhere, and no other site may frame it. */
export const CONSOLE_POLICY =
  "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Encodings that the build leaves beside a text, the smaller first. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

/** Names under this folder carry a hash of their content. */
const HASHED = 'assets/'

const NOT_BUILT = 'The console is not built. Run `npm run build:console`, and start the service again.\n'

type Files = ReadonlyMap<string, Buffer>

async function readFiles(folder: string): Promise<Files> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter(entry => entry.isFile()).map(entry => path.join(entry.parentPath, entry.name))
  return new Map(
    await Promise.all(
      files.map(async file => [path.relative(folder, file).split(path.sep).join('/'), await readFile(file)] as const),
    ),
  )
}

/** Registers the console as built into a folder, which is read once. An empty or missing folder is answered with a word, not an error. */
export async function serveConsole(server: FastifyInstance, folder: string): Promise<void> {
  const files = await readFiles(folder)
  const page = async (request: FastifyRequest, reply: FastifyReply) => {
    const asked = (request.params as { '*'?: string })['*'] ?? ''
    if (!files.has('index.html')) return await reply.status(503).type('text/plain; charset=utf-8').send(NOT_BUILT)
    const isAsset = asked.startsWith(HASHED)
    if (isAsset && !files.has(asked))
      return await reply.status(404).type('text/plain; charset=utf-8').send('No such file.\n')
    return await answer(request, reply, files, files.has(asked) ? asked : 'index.html')
  }
  // Whoever opens the address that the start prints wants this.
  server.get('/', { schema: { hide: true } }, (_, reply) => reply.redirect('/console', 302))
  for (const url of ['/console', '/console/', '/console/*']) server.get(url, { schema: { hide: true } }, page)
}

async function answer(request: FastifyRequest, reply: FastifyReply, files: Files, name: string): Promise<FastifyReply> {
  const accepted = String(request.headers['accept-encoding'] ?? '')
  const encoded = ENCODINGS.find(
    ([word, ending]) => new RegExp(`\\b${word}\\b`).test(accepted) && files.has(name + ending),
  )
  reply
    .type(TYPES[path.extname(name)] ?? 'application/octet-stream')
    .header('cache-control', name.startsWith(HASHED) ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('vary', 'accept-encoding')
    .header('content-security-policy', CONSOLE_POLICY)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
    .header('cross-origin-opener-policy', 'same-origin')
  if (encoded) reply.header('content-encoding', encoded[0])
  return await reply.send(files.get(name + (encoded?.[1] ?? '')))
}
