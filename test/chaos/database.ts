/** The run's PostgreSQL, as an operator's own: a server that is stopped, killed, crowded and blocked from outside the nodes. */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/store/embedded-postgres.ts'
import { freePort } from '../../src/store/postmaster.ts'

export interface ChaosDatabase {
  readonly url: string
  stop(): Promise<void>
  start(): Promise<void>
  kill(): void
  /** One connection for some statements; fails as they fail. */
  on<T>(work: (client: pg.Client) => Promise<T>): Promise<T>
  /** Takes every connection that is left, for so long. */
  crowd(forMs: number): Promise<void>
}

const CONNECTIONS_MAX = 60
const STATEMENT_MS = 60_000

export async function startChaosDatabase(folder: string): Promise<ChaosDatabase> {
  const dataDir = path.join(folder, 'database')
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  const port = await freePort()
  const launch = () =>
    startEmbeddedPostgres({
      dataDir,
      port,
      log: pino({ level: 'silent' }),
      settings: { max_connections: String(CONNECTIONS_MAX) },
    })
  let server: EmbeddedPostgres = await launch()
  const { url } = server

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'chaos',
      connectionTimeoutMillis: 5_000,
      statement_timeout: STATEMENT_MS,
      query_timeout: STATEMENT_MS,
    })
    // The server is stopped and killed under our feet as well.
    client.on('error', () => {})
    await client.connect()
    return client
  }

  return {
    url,
    stop: () => server.stop(),
    async start() {
      server = await launch()
    },
    kill: () => process.kill(server.pid(), 'SIGKILL'),
    async on(work) {
      const client = await connect()
      try {
        return await work(client)
      } finally {
        await client.end().catch(() => {})
      }
    },
    async crowd(forMs) {
      const taken: pg.Client[] = []
      try {
        const until = Date.now() + forMs
        while (Date.now() < until) {
          const client = await connect().catch(() => null)
          if (client) taken.push(client)
          else await sleep(50)
        }
      } finally {
        await Promise.all(taken.map(client => client.end().catch(() => {})))
      }
    },
  }
}
