/**
 * A Mosquitto between the devices and three processes of the service, killed and started again in the middle of a job: nothing is lost,
 * nothing is done twice, and the counters are exact.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VerifyView } from '../../src/contract/verify.ts'
import type { Fleet } from '../../src/simulator/fleet.ts'
import { createMosquitto, type Mosquitto, mosquittoProgram } from '../south/mosquitto.ts'
import { bringUpFleet } from './fleet.ts'
import { openHouse } from './house.ts'
import { countersOf, createJob, readJob, readOperations, recount, updateRequest } from './jobs.ts'

const DEVICES = Number(process.env.DROVER_TEST_OPERATIONS ?? 5_000)
const LONG_MS = 400_000

describe.skipIf(mosquittoProgram === undefined)(`a job of ${DEVICES} operations over Mosquitto`, async () => {
  if (mosquittoProgram === undefined) return
  const broker: Mosquitto = await createMosquitto(mosquittoProgram)
  afterAll(() => broker.remove())
  await broker.start()
  const door = await openHouse({ DROVER_ROLES: 'north,engine', DROVER_MQTT_URL: broker.url })
  const souths = [1, 2]
  const opened = await Promise.all(
    souths.map(() => openHouse({ DROVER_ROLES: 'south', DROVER_MQTT_URL: broker.url, DATABASE_URL: door.databaseUrl })),
  )
  const { client } = door
  const executed = { count: 0, mark: () => {} }
  let fleet: Fleet

  beforeAll(async () => {
    fleet = await bringUpFleet(
      { client, mqtt: broker.url },
      {
        devices: DEVICES,
        flows: { mqtt: 1 },
        latency: { shape: 'uniform', minMs: 50, maxMs: 2_000 },
        parts: 1,
      },
      ({ what }) => {
        if (what !== 'executed') return
        executed.count += 1
        executed.mark()
      },
    )
    afterAll(() => fleet.stop())
  }, LONG_MS)

  const until = (count: number) =>
    new Promise<void>(resolve => {
      executed.mark = () => executed.count >= count && resolve()
    })

  /** What a south has taken from devices and committed. */
  async function answered(south: (typeof opened)[number]): Promise<number> {
    const page = await (await fetch(`${south.url}/metrics`)).text()
    const lines = page.split('\n').filter(line => line.startsWith('drover_operation_events_total'))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  test(
    'ends with every operation done once though the broker is killed and started again',
    async () => {
      const { id } = await createJob(
        client,
        updateRequest('sim', { operationParameters: { ackTimeout: 10_000, timeout: 60_000, retries: 5 } }),
      )
      await until(DEVICES * 0.4)
      await broker.kill('SIGKILL')
      await broker.start()
      await expect
        .poll(async () => (await readJob(client, id)).report.summary.status, { timeout: LONG_MS, interval: 200 })
        .toMatch(/^FINISHED/)
      const [job, operations] = [await readJob(client, id), await readOperations(client, id)]
      expect(job.report.summary).toMatchObject({
        status: 'FINISHED',
        total: DEVICES,
        inProgress: { total: 0 },
        finished: { total: DEVICES, successful: DEVICES },
      })
      expect(countersOf(job)).toEqual(recount(operations))
      expect(new Set(operations.map(({ entityId }) => entityId)).size).toBe(DEVICES)
      const verified = await client.call<VerifyView>('GET', '/north/v80/operation/verify')
      expect(verified.body).toEqual({ jobs: 1, differences: [] })
      expect(fleet.counters).toMatchObject({ executed: DEVICES, doubled: 0 })
    },
    LONG_MS,
  )

  test('was answered through both souths', async () => {
    for (const south of opened) expect(await answered(south)).toBeGreaterThan(DEVICES / 10)
  })
})
