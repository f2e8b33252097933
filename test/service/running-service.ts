/** A whole service inside the test's process: real HTTP, real MQTT, and a PostgreSQL database of its own. */
import { randomBytes } from 'node:crypto'
import { afterAll } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { startService } from '../../src/service.ts'
import { createTestDatabase, silentLog } from '../database.ts'
import { type Client, createClient } from './client.ts'

export interface RunningService {
  readonly client: Client
  /** `http://127.0.0.1:…` */
  readonly url: string
  /** `mqtt://127.0.0.1:…` */
  readonly mqtt: string
  readonly password: string
}

export const ADMIN = 'admin@drover.test'

/** Starts a service for a test file, configured by variables as an operator would; it is stopped after the file's last test. */
export async function runningService(variables: Record<string, string> = {}): Promise<RunningService> {
  const { url: databaseUrl, close } = await createTestDatabase({ migrated: false })
  const [apiKey, password] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  const config = readConfig({
    DATABASE_URL: databaseUrl,
    DROVER_PORT: '0',
    DROVER_MQTT_PORT: '0',
    DROVER_DATABASE_CONNECTIONS_MAX: '10',
    DROVER_ADMIN_EMAIL: ADMIN,
    DROVER_ADMIN_PASSWORD: password,
    DROVER_ADMIN_API_KEY: apiKey,
    DROVER_CALLBACK_ALLOW_LOOPBACK: 'true',
    ...variables,
  })
  const starting = startService({ config, log: silentLog, tell: () => {}, onFailure: () => {} })
  afterAll(async () => {
    await (await starting.catch(() => null))?.stop()
    await close()
  })
  const service = await starting
  const url = service.url!
  return { client: createClient(url, apiKey), url, mqtt: `mqtt://127.0.0.1:${service.mqttPort}`, password }
}
