/** A PostgreSQL of its own for each measurement: the embedded one, with `synchronous_commit=on`, in a folder that goes with it. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import { startEmbeddedPostgres } from '../src/store/embedded-postgres.ts'

export interface BenchPostgres {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

/** Starts an empty server. `settings` stand beside the product's own. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<BenchPostgres> {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-bench-'))
  // Started by root, the database runs as somebody else, who must be able to enter.
  await chmod(folder, 0o711)
  const server = await startEmbeddedPostgres({
    dataDir: path.join(folder, 'data'),
    log: pino({ level: 'silent' }),
    settings,
  })
  return {
    url: server.url,
    pid: server.pid(),
    async stop() {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
