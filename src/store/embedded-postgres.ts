/**
 * The embedded database of a single-machine service: started with the service, adopted when an earlier process left it running,
 * started again when it dies alone. It is real PostgreSQL on the loopback, and its data lie in the data folder.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import { pauseAfter } from '../domain/growing-pauses.ts'
import { type Cluster, databaseName, hasCluster, openCluster } from './postgres-cluster.ts'
import {
  adoptPostmaster,
  answeringPort,
  freePort,
  launchPostmaster,
  type Postmaster,
  stopPostmaster,
  urlOf,
} from './postmaster.ts'
import { Unfit } from './unfit.ts'

export interface EmbeddedPostgresOptions {
  /** The data folder, which the caller holds alone. */
  dataDir: string
  log: Logger
  /** A port of the loopback; a free one unless told. */
  port?: number
  /** Server settings beside the defaults. */
  settings?: Readonly<Record<string, string>>
  /** Told when the server died and could not be started again: nothing more will be tried. */
  onFailure?: (error: unknown) => void
}

export interface EmbeddedPostgres {
  /** The service's database; it stays the same when the server is started again. */
  readonly url: string
  /** The server's process number at this moment. */
  pid(): number
  /** Stops the server and waits for its end. Idempotent. */
  stop(): Promise<void>
}

const restarts = 10
const PAUSES = { firstPauseMs: 100, longestPauseMs: 5_000 }
const portTries = 5

async function createDatabase(cluster: Cluster, port: number): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(cluster, port, 'postgres'), connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [databaseName])
    if (rowCount === 0) await client.query(`create database ${databaseName}`)
  } finally {
    await client.end()
  }
}

/**
 * The address of a data folder's database where it is running, whoever runs it; null where it is not. Fails where the folder has no
 * database, and makes none.
 */
export async function runningEmbeddedUrl(dataDir: string, log: Logger): Promise<string | null> {
  if (!(await hasCluster(dataDir))) throw new Unfit('noDatabase', `There is no database in ${dataDir}`)
  const cluster = await openCluster(dataDir, log)
  const port = await answeringPort(cluster)
  return port === null ? null : urlOf(cluster, port, databaseName)
}

/** Starts or adopts the database of a data folder, made the first time. Fails with a clear word when it cannot. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log, settings = {} } = options
  const cluster = await openCluster(options.dataDir, log)

  /** Between choosing a free port and taking it, somebody else may have taken it. */
  async function launchOnFreePort(): Promise<Postmaster> {
    for (let tried = 1; ; tried++) {
      try {
        return await launchPostmaster(cluster, options.port ?? (await freePort()), settings)
      } catch (error) {
        const taken = error instanceof Error && error.message.includes('Address already in use')
        if (!taken || options.port !== undefined || tried === portTries) throw error
      }
    }
  }

  let running = (await adoptPostmaster(cluster, log)) ?? (await launchOnFreePort())
  const { port } = running
  await createDatabase(cluster, port)
  const stopping = new AbortController()

  /** After a crash the port must stay, since the pools know it; the remains of the old server may hold it for a moment. */
  async function relaunch(): Promise<Postmaster | null> {
    for (let tried = 1; !stopping.signal.aborted; tried++) {
      try {
        return await launchPostmaster(cluster, port, settings)
      } catch (error) {
        log.error({ err: error, tried }, 'the embedded database cannot be started again')
        if (tried === restarts) {
          options.onFailure?.(error)
          return null
        }
      }
      await sleep(pauseAfter(tried - 1, PAUSES), undefined, { signal: stopping.signal }).catch(() => {})
    }
    return null
  }

  async function watch(): Promise<void> {
    for (;;) {
      await running.ended
      if (stopping.signal.aborted) return
      log.error({ databasePid: running.pid }, 'the embedded database died and is started again')
      const next = await relaunch()
      if (!next) return
      running = next
      if (stopping.signal.aborted) return stopPostmaster(running)
    }
  }
  const watching = watch()

  return {
    url: urlOf(cluster, port, databaseName),
    pid: () => running.pid,
    async stop() {
      stopping.abort()
      await stopPostmaster(running)
      await watching
    },
  }
}
