/**
 * Starts a service and stops its parts in order. Its embedded database comes up while the code of the parts is loaded: each takes about
 * as long as the other.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { FirstCredentials } from '../engine/first-start.ts'
import { holdDataFolder } from '../store/data-folder.ts'
import type { Database } from '../store/database.ts'
import { startEmbeddedPostgres } from '../store/embedded-postgres.ts'

export interface ServiceOptions {
  readonly config: Config
  readonly log: Logger
  /** told the credentials made at the first start, once, when it listens; and the address of the console, null without one */
  readonly tell: (credentials: FirstCredentials, consoleUrl: string | null) => void
  /** told when the embedded database died and cannot be started again */
  readonly onFailure: (error: unknown) => void
}

export interface Service {
  /** where clients and devices reach it over HTTP; null without a door */
  readonly url: string | null
  /** where devices reach the embedded broker; null without one */
  readonly mqttPort: number | null
  /** where metrics are read, where that is an address of their own */
  readonly metricsUrl: string | null
  readonly database: Database
  /** Stops in order: doors, claims, work in hand, deliveries, database. Idempotent. */
  stop(): Promise<void>
}

/** Says what is to be done at the stop. */
export type AtStop = (stop: () => Promise<void> | void) => void

/** Loading leaves the event loop no turn: what starts an embedded database must have got to its own processes by then. */
const LOADING_AFTER_MS = 100

/** Starts a service. Fails with a clear word, having stopped what it had started. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const stops: (() => Promise<void> | void)[] = []
  let stopped: Promise<void> | null = null
  const stop = () => {
    stopped ??= (async () => {
      for (const each of stops.toReversed()) {
        try {
          await each()
        } catch (error) {
          options.log.error({ err: error }, 'a part did not stop')
        }
      }
    })()
    return stopped
  }
  try {
    const atStop: AtStop = each => stops.push(each)
    const loading = loadBuild(options.config.databaseUrl === null)
    loading.catch(() => {})
    const url = await databaseUrl(options, atStop)
    const { build } = await loading
    return { ...(await build(url, options, atStop)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function loadBuild(isEmbedded: boolean) {
  if (isEmbedded) await sleep(LOADING_AFTER_MS)
  return await import('./build.ts')
}

/** The address of the database: the operator's, or that of the embedded one, started on the data folder. */
async function databaseUrl({ config, log, onFailure }: ServiceOptions, atStop: AtStop): Promise<string> {
  if (config.databaseUrl !== null) return config.databaseUrl
  const folder = await holdDataFolder(config.dataDir)
  atStop(() => folder.release())
  const embedded = await startEmbeddedPostgres({ dataDir: folder.path, log, onFailure })
  atStop(() => embedded.stop())
  return embedded.url
}
