/** A whole service in the process of the test, on a database of its own and free ports, and a client of its north interface. */
import { connect as connectMqtt } from 'mqtt'
import { afterAll, onTestFinished } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { startService } from '../../src/service.ts'
import { createTestDatabase, silentLog } from '../database.ts'
import { notes } from '../south/parts.ts'

export const API_KEY = 'the-key-of-the-administrator'

export interface OperationSeen {
  operationId: string
  entityId: string
  status: string
  result: string
  description?: string
  steps: { name: string; result: string; description?: string }[]
}

/** Opens a service for a test file, closed after its last test. Call once at the top of a file. */
export async function openHouse(environment: Record<string, string> = {}) {
  const made = await createTestDatabase()
  const service = await startService({
    config: readConfig({
      DATABASE_URL: made.url,
      DROVER_PORT: '0',
      DROVER_MQTT_PORT: '0',
      DROVER_ADMIN_API_KEY: API_KEY,
      DROVER_LOG_LEVEL: 'silent',
      ...environment,
    }),
    log: silentLog,
    tell: () => {},
    onFailure: () => {},
  })
  afterAll(async () => {
    await service.stop()
    await made.close()
  })
  const url = service.url!

  async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    return await fetch(`${url}${path}`, {
      method,
      headers: { 'x-apikey': API_KEY, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }

  async function operationOf(job: string): Promise<OperationSeen | undefined> {
    const answer = await call('GET', `/north/v80/operation/jobs/${job}/operations`)
    if (answer.status !== 200) return undefined
    const { operations } = (await answer.json()) as { operations: OperationSeen[] }
    return operations[0]
  }

  return {
    url,
    metricsUrl: service.metricsUrl,
    /** the service's own, for what no client can do */
    database: service.database,
    call,
    mqttUrl: `mqtt://127.0.0.1:${service.mqttPort}`,

    /** Provisions a device; answers its key. */
    async provision(identifier: string, values: Record<string, string> = {}): Promise<string> {
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
      const path = '/north/v80/provision/organizations/drover/devices?flattened=true'
      const answer = await call('POST', path, body)
      if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`)
      return answer.headers.get('x-apikey')!
    },

    /** Starts one operation on one device; answers the job's id. */
    async start(entity: string, request: Record<string, unknown> = {}): Promise<string> {
      const answer = await call('POST', '/north/v80/operation/jobs', {
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
      if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`)
      return answer.headers.get('location')!.split('/').at(-1)!
    },

    operationOf,

    /** The operation of a job once it is as wanted. */
    async until(job: string, isWanted: (operation: OperationSeen) => boolean): Promise<OperationSeen> {
      for (;;) {
        const operation = await operationOf(job)
        if (operation && isWanted(operation)) return operation
      }
    },

    async south(deviceId: string, key: string, path: string, body?: unknown) {
      const method = body === undefined ? 'GET' : 'POST'
      return await call(method, `/south/v80/devices/${deviceId}/${path}`, body, { 'x-apikey': key })
    },

    /** A device on the embedded broker: subscribed, its requests noted. */
    async overMqtt(deviceId: string, key: string, options: { subscribe?: boolean } = {}) {
      const client = connectMqtt(this.mqttUrl, {
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

export const isFinal = ({ status }: OperationSeen) =>
  ['FINISHED', 'TIMEOUT_CANCELLED', 'CANCELLED', 'NOT_ALLOWED'].includes(status)

/** A response as devices write it. */
export function response(id: string, members: Record<string, unknown> = {}) {
  return { version: '8.0', operation: { response: { id, ...members } } }
}
