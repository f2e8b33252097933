/** A PostgreSQL of its own for each measurement: the embedded one, with `synchronous_commit=on`, in a folder that goes with it. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
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
  const stop = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await requireDurable(server.url)
    return { url: server.url, pid: server.pid(), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Fails where a commit is not waited for until it is on the disk: nothing measured so would be comparable. */
export async function requireDurable(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const setting of ['synchronous_commit', 'fsync', 'full_page_writes']) {
      const { rows } = await client.query<{ value: string }>('select current_setting($1) as value', [setting])
      if (rows[0]?.value !== 'on') throw new Error(`the server has ${setting}=${rows[0]?.value}`)
    }
  } finally {
    await client.end()
  }
}
