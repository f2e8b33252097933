/**
 * BullMQ on a Redis that writes every change to its disk, where both can be had: Redis is Debian's package, and BullMQ is installed into a
 * folder of its own, since one of its optional parts is not published for every platform and would break our lock file.
 *
 * Its settings are those of its documentation: `addBulk` (docs.bullmq.io/guide/queues/adding-bulks), a concurrency between the 100 and 300
 * that /guide/parallelism-and-concurrency calls standard, and jobs removed when they are done (/guide/queues/auto-removal-of-jobs). Redis
 * appends to its log, as /guide/going-to-production asks for, and flushes it at every change, as PostgreSQL does here.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const VERSION = '6.7.0'
const CONCURRENCY = 200
const INSERTED_AT_ONCE = 1_000
const WITHIN_MS = 10_000

interface Connection {
  readonly connection: { readonly host: string; readonly port: number }
}

/** What is used of it. */
interface Bullmq {
  readonly Queue: new (
    name: string,
    options: Connection,
  ) => {
    addBulk(jobs: { name: string; data: unknown; opts: { removeOnComplete: boolean } }[]): Promise<unknown>
    close(): Promise<void>
  }
  readonly Worker: new (
    name: string,
    work: () => Promise<void>,
    options: Connection & { concurrency: number },
  ) => { on(event: 'completed', listener: () => void): unknown; close(): Promise<void> }
}

/** Makes and does empty jobs; answers the seconds that took, or undefined where Redis or BullMQ are not to be had. */
export async function bullmq(jobs: number): Promise<number | undefined> {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-bench-'))
  try {
    const { Queue, Worker } = await install(folder)
    const port = await freePort()
    const server = spawn(
      'redis-server',
      ['--port', String(port), '--bind', '127.0.0.1', '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
      { cwd: folder, stdio: 'ignore' },
    )
    try {
      await once(server, 'spawn')
      await answers(port)
      const options = { connection: { host: '127.0.0.1', port } }
      const queue = new Queue('empty', options)
      const startedAt = performance.now()
      for (let made = 0; made < jobs; made += INSERTED_AT_ONCE) {
        const count = Math.min(INSERTED_AT_ONCE, jobs - made)
        await queue.addBulk(
          Array.from({ length: count }, (_, i) => ({ name: 'empty', data: { i }, opts: { removeOnComplete: true } })),
        )
      }
      let done = 0
      const all = Promise.withResolvers<void>()
      const worker = new Worker('empty', async () => {}, { ...options, concurrency: CONCURRENCY })
      worker.on('completed', () => {
        done += 1
        if (done === jobs) all.resolve()
      })
      await all.promise
      const seconds = (performance.now() - startedAt) / 1000
      await worker.close()
      await queue.close()
      return seconds
    } finally {
      server.kill('SIGKILL')
    }
  } catch (error) {
    process.stderr.write(`BullMQ was left out: ${error instanceof Error ? error.message.split('\n')[0] : error}\n`)
    return undefined
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function install(folder: string): Promise<Bullmq> {
  const args = [
    'install',
    '--prefix',
    folder,
    '--no-audit',
    '--no-fund',
    '--omit=optional',
    `bullmq@${VERSION}`,
    'ioredis@5',
  ]
  await promisify(execFile)('npm', args, { cwd: folder, timeout: 120_000 })
  return createRequire(path.join(folder, 'package.json'))('bullmq') as Bullmq
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function answers(port: number): Promise<void> {
  for (const until = performance.now() + WITHIN_MS; ; await sleep(20)) {
    const socket = createConnection({ host: '127.0.0.1', port })
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isThere) return
    if (performance.now() > until) throw new Error('Redis does not answer')
  }
}
