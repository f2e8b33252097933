/**
 * A whole service in the process of the test: real HTTP, real MQTT, and a PostgreSQL database of its own; beside it a client of its
 * north interface, and what tests do with devices over and over.
 */
import { randomBytes } from 'node:crypto'
import { connect as connectMqtt } from 'mqtt'
import { afterAll, onTestFinished } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import type { OperationView } from '../../src/contract/operation.ts'
import { startService } from '../../src/service/service.ts'
import { createTestDatabase, silentLog } from '../database.ts'
import { notes } from '../south/parts.ts'
import { createClient } from './client.ts'

export const ADMIN = 'admin@drover.test'
export const DEVICES = '/north/v80/provision/organizations/drover/devices'

/** Opens a service for a test file, configured by variables as an operator would; closed after its last test. */
export async function openHouse(variables: Record<string, string> = {}) {
  const made = await createTestDatabase()
  const [apiKey, password] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  const config = readConfig({
    DATABASE_URL: made.url,
    DROVER_PORT: '0',
    DROVER_MQTT_PORT: '0',
    DROVER_DATABASE_CONNECTIONS_MAX: '10',
    DROVER_ADMIN_EMAIL: ADMIN,
    DROVER_ADMIN_PASSWORD: password,
    DROVER_ADMIN_API_KEY: apiKey,
    DROVER_CALLBACK_ALLOW_LOOPBACK: 'true',
    DROVER_LOG_LEVEL: 'silent',
    ...variables,
  })
  const starting = startService({ config, log: silentLog, tell: () => {}, onFailure: () => {} })
  afterAll(async () => {
    await (await starting.catch(() => null))?.stop()
    await made.close()
  })
  const service = await starting
  const url = service.url!
  const mqtt = `mqtt://127.0.0.1:${service.mqttPort}`
  const client = createClient(url, apiKey)

  async function operationOf(job: string): Promise<OperationView | undefined> {
    const { body } = await client.call<{ operations: OperationView[] } | undefined>(
      'GET',
      `/north/v80/operation/jobs/${job}/operations`,
    )
    return body?.operations?.[0]
  }

  return {
    client,
    call: client.call,
    /** `http://127.0.0.1:…` */
    url,
    /** `mqtt://127.0.0.1:…` */
    mqtt,
    metricsUrl: service.metricsUrl,
    databaseUrl: made.url,
    /** the service's own, for what no client can do */
    database: service.database,
    /** of the user `ADMIN` */
    password,
    apiKey,

    /** Provisions a device; answers its key. */
    async provision(identifier: string, values: Record<string, unknown> = {}): Promise<string> {
      const ids = {
        'provision.device.identifier': identifier,
        'provision.administration.organization': 'drover',
        'provision.administration.channel': 'default',
        'provision.administration.serviceGroup': 'default',
        ...values,
      }
      const body = Object.fromEntries(
        Object.entries(ids).map(([id, value]) => [id, { _value: { _current: { value } } }]),
      )
      const answer = await client.call('POST', `${DEVICES}?flattened=true`, body)
      if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.headers.get('x-apikey')!
    },

    /** Starts one operation on one device; answers the job's id. */
    async start(entity: string, request: Record<string, unknown> = {}): Promise<string> {
      const answer = await client.call<{ id: string }>('POST', '/north/v80/operation/jobs', {
        job: {
          request: {
            name: 'REBOOT_EQUIPMENT',
            parameters: { type: 'HARDWARE' },
            active: true,
            target: { append: { entities: [entity] } },
            operationParameters: { timeout: 60_000 },
            ...request,
          },
        },
      })
      if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body.id
    },

    operationOf,

    /** The operation of a job once it is as wanted. */
    async until(job: string, isWanted: (operation: OperationView) => boolean): Promise<OperationView> {
      for (;;) {
        const operation = await operationOf(job)
        if (operation && isWanted(operation)) return operation
      }
    },

    /** What a device asks or tells, with its key. */
    async south<Body>(deviceId: string, key: string, path: string, body?: unknown) {
      const method = body === undefined ? 'GET' : 'POST'
      return await client.call<Body>(method, `/south/v80/devices/${deviceId}/${path}`, body, { 'x-apikey': key })
    },

    /** A device on the embedded broker: subscribed, its requests noted. */
    async overMqtt(deviceId: string, key: string, options: { subscribe?: boolean } = {}) {
      const client = connectMqtt(mqtt, {
        username: deviceId,
        password: key,
        reconnectPeriod: 0,
        protocolVersion: 4,
      })
      onTestFinished(() => void client.end(true))
      const requests = notes<{ id: string; name: string; parameters: unknown }>()
      client.on('error', () => {})
      client.on('message', (_topic, payload) => requests.add(JSON.parse(payload.toString()).operation.request))
      await new Promise<void>((resolve, reject) => {
        client.once('connect', () => resolve())
        client.once('close', () => reject(new Error('not let in')))
      })
      if (options.subscribe !== false) await client.subscribeAsync(`odm/request/${deviceId}`, { qos: 1 })
      return { client, requests }
    },
  }
}

export type House = Awaited<ReturnType<typeof openHouse>>

export const isFinal = ({ status }: OperationView) =>
  ['FINISHED', 'FINISHED_OUT_OF_TIME', 'TIMEOUT_CANCELLED', 'CANCELLED', 'NOT_ALLOWED'].includes(status)

/** A response as devices write it. */
export function response(id: string, members: Record<string, unknown> = {}) {
  return { version: '8.0', operation: { response: { id, ...members } } }
}
