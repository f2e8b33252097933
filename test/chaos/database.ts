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
  /** Answers whether it ran. */
  kill(): boolean
  /** One connection for some statements; fails as they fail. */
  on<T>(work: (client: pg.Client) => Promise<T>): Promise<T>
  /**
   * Sets the clock that sessions opened with a clock of their own tell the nodes, which take it over at their next measurement; it goes
   * on from there. Never back: clocks of nodes do not run backwards.
   */
  setClock(at: Date): Promise<void>
  /** Takes every connection that is left, for so long from when there is none. Fails where there still are some after `withinMs`. */
  crowd(forMs: number, withinMs: number): Promise<void>
}

const CONNECTIONS_MAX = 60
const STATEMENT_MS = 60_000
/** What PostgreSQL says when it has no connection left. */
const TOO_MANY = '53300'

/** Starts it; with `clockAt` its clock, as the nodes read it, stands there at first. */
export async function startChaosDatabase(folder: string, clockAt?: Date): Promise<ChaosDatabase> {
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

  async function on<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = await connect()
    try {
      return await work(client)
    } finally {
      await client.end().catch(() => {})
    }
  }

  async function setClock(at: Date): Promise<void> {
    const aheadMs = at.getTime() - Date.now()
    await on(client =>
      client.query(`create or replace function public.clock_timestamp() returns timestamptz language sql volatile
        as $$ select pg_catalog.clock_timestamp() + interval '${aheadMs} milliseconds' $$`),
    )
  }

  if (clockAt !== undefined) {
    await setClock(clockAt)
    // What is named after others hides nothing of theirs: here the catalog comes last.
    const { pathname } = new URL(url)
    await on(client => client.query(`alter database "${pathname.slice(1)}" set search_path = public, pg_catalog`))
  }

  return {
    url,
    on,
    setClock,
    stop: () => server.stop(),
    async start() {
      server = await launch()
    },
    kill: () => process.kill(server.pid(), 'SIGKILL'),
    async crowd(forMs, withinMs) {
      const taken: pg.Client[] = []
      let fullSince = 0
      try {
        const until = Date.now() + withinMs
        while (Date.now() < (fullSince === 0 ? until : fullSince + forMs)) {
          const client = await connect().catch((error: unknown) => {
            if (error instanceof pg.DatabaseError && error.code === TOO_MANY && fullSince === 0) fullSince = Date.now()
            return null
          })
          if (client) taken.push(client)
          else await sleep(50)
        }
        if (fullSince === 0) throw new Error(`connections were left, ${taken.length} were taken`)
      } finally {
        await Promise.all(taken.map(client => client.end().catch(() => {})))
      }
    },
  }
}
