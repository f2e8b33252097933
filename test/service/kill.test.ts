import { afterAll, expect, test } from 'vitest'
import type { FleetEvent } from '../../src/simulator/device-run.ts'
import type { Fleet } from '../../src/simulator/fleet.ts'
import { type CallbackReceiver, createCallbackReceiver } from '../callback-receiver.ts'
import { type Client, createClient } from './client.ts'
import { bringUpFleet } from './fleet.ts'
import { countersOf, createJob, readJob, readOperations, recount, updateRequest } from './jobs.ts'
import { dataFolder, launchService, postgresPid, type ServiceProcess } from './service-process.ts'

const DEVICES = 1_000
const LONG_MS = 240_000
const apiKey = 'a-key-of-the-kill-test'
const folder = await dataFolder()

let service: ServiceProcess
let client: Client
let fleet: Fleet
let listener: (event: FleetEvent) => void = () => {}
/** The devices know one address: whoever is started again listens where it did. */
let ports: Record<string, string> = {}

async function startAgain(): Promise<void> {
  service = launchService(folder, {
    DROVER_ADMIN_API_KEY: apiKey,
    DROVER_CALLBACK_ALLOW_LOOPBACK: 'true',
    ...ports,
  })
  const { url, mqttPort } = await service.ready()
  ports = { DROVER_PORT: new URL(url).port, DROVER_MQTT_PORT: String(mqttPort) }
  client = createClient(url, apiKey)
}

async function killDatabase(): Promise<void> {
  process.kill((await postgresPid(folder))!, 'SIGKILL')
}

/** Operations whose final response the service has taken, over a way on which that is said after the commit only. */
function finalsTaken(atLeast: number): { taken: Set<string>; enough: Promise<void> } {
  const taken = new Set<string>()
  const { promise, resolve } = Promise.withResolvers<void>()
  const synchronous = new Set(fleet.devices.filter(({ flow }) => flow === 'http-sync').map(({ id }) => id))
  listener = ({ what, kind, delivery, deviceId, operationId }) => {
    if (what !== 'answered' || kind !== 'final' || delivery !== 'delivered' || synchronous.has(deviceId)) return
    taken.add(operationId)
    if (taken.size >= atLeast) resolve()
  }
  return { taken, enough: promise }
}

/** Resolves once the notification of a job's end was heard. */
async function hearsTheEnd(receiver: CallbackReceiver): Promise<void> {
  for (let count = 1; ; count += 1) {
    const heard = await receiver.hears(count)
    if (heard.some(({ path }) => path === '/jobFinished')) return
  }
}

afterAll(() => fleet?.stop())

test(
  'a thousand devices are provisioned and come up',
  async () => {
    await startAgain()
    fleet = await bringUpFleet(
      { client, mqtt: `mqtt://127.0.0.1:${ports.DROVER_MQTT_PORT}` },
      { devices: DEVICES, latency: { shape: 'uniform', minMs: 200, maxMs: 3_000 }, pullWaitS: 5 },
      event => listener(event),
    )
    expect(fleet.counters.connected).toBe(DEVICES / 4)
  },
  LONG_MS,
)

test.each<[string, () => Promise<void>]>([
  [
    'the service',
    async () => {
      await service.end('SIGKILL')
      await startAgain()
    },
  ],
  ['its database', killDatabase],
  [
    'the service and its database',
    async () => {
      await Promise.all([service.end('SIGKILL'), killDatabase()])
      await startAgain()
    },
  ],
])(
  'a job of a thousand devices in the middle of which %s is killed finishes with exact counters, each device having done it once',
  async (_, kill) => {
    const receiver = await createCallbackReceiver()
    const before = { ...fleet.counters }
    const { taken, enough } = finalsTaken(150)
    const request = updateRequest('sim', {
      callback: receiver.url,
      // An answer that a killed service had only half read is lost: the device is asked again after the time to acknowledge.
      operationParameters: { ackTimeout: 12_000, timeout: 60_000, retries: 3 },
    })
    const { id } = await createJob(client, request)
    await enough
    const takenBefore = [...taken]
    expect((await readJob(client, id)).report.summary.inProgress.total).toBeGreaterThan(0)
    await kill()
    await hearsTheEnd(receiver)

    const job = await readJob(client, id)
    const operations = await readOperations(client, id)
    expect(countersOf(job)).toEqual(recount(operations))
    expect(job.report.summary).toMatchObject({
      status: 'FINISHED',
      total: DEVICES,
      inProgress: { total: 0 },
      finished: { total: DEVICES, successful: DEVICES },
    })
    expect(new Set(operations.map(({ entityId }) => entityId)).size).toBe(DEVICES)

    // Each device did it once, whatever was delivered again; what had been taken from it was not asked for again.
    const remembered = operations.map(({ operationId }) => fleet.operation(operationId)!)
    expect(remembered.filter(({ executions }) => executions !== 1)).toEqual([])
    expect(takenBefore.filter(operation => fleet.operation(operation)!.receipts !== 1)).toEqual([])
    const { executed, received, repeated, doubled } = fleet.counters
    expect([executed - before.executed, doubled]).toEqual([DEVICES, 0])
    expect(received - before.received - (repeated - before.repeated)).toBe(DEVICES)

    const told = receiver.heard.map(({ path }) => path)
    expect(told.lastIndexOf('/jobStarted')).toBeGreaterThanOrEqual(0)
    expect(told.indexOf('/jobStarted')).toBeLessThan(told.indexOf('/jobFinished'))
    expect(receiver.heard.map(({ body }) => JSON.parse(body).job.id)).toEqual(told.map(() => id))
  },
  LONG_MS,
)
