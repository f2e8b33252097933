/** A broker of the operator that answers late: slowness alone sends nothing twice. */
import { afterAll, describe, expect, test } from 'vitest'
import { createMosquitto, mosquittoProgram } from '../south/mosquitto.ts'
import { bringUpFleet } from './fleet.ts'
import { openHouse } from './house.ts'
import { createJob, readJob } from './jobs.ts'
import { drawWire } from './wire.ts'

const DEVICES = 50
/** Longer than the engine leaves a request with a sender of which it knows nothing. */
const LATE_MS = 8_000
const LONG_MS = 120_000

describe.skipIf(mosquittoProgram === undefined)('behind a Mosquitto that answers eight seconds late', async () => {
  if (mosquittoProgram === undefined) return
  const broker = await createMosquitto(mosquittoProgram)
  afterAll(() => broker.remove())
  await broker.start()
  const wire = await drawWire(broker.url)
  afterAll(() => wire.close())
  const { client } = await openHouse({ DROVER_MQTT_URL: wire.url })

  test(
    'each device gets its request once',
    async () => {
      const fleet = await bringUpFleet(
        { client, mqtt: broker.url },
        { devices: DEVICES, flows: { mqtt: 1 }, latency: { shape: 'uniform', minMs: 0, maxMs: 0 }, parts: 1 },
      )
      afterAll(() => fleet.stop())
      wire.delayMs = LATE_MS
      const { id } = await createJob(client, {
        name: 'REBOOT_EQUIPMENT',
        active: true,
        target: { append: { tags: ['sim'] } },
        operationParameters: { timeout: LONG_MS },
      })
      await expect
        .poll(async () => (await readJob(client, id)).report.summary.status, { timeout: LONG_MS, interval: 200 })
        .toMatch(/^FINISHED/)
      expect((await readJob(client, id)).report.summary.finished).toMatchObject({ successful: DEVICES })
      expect(fleet.counters).toMatchObject({ received: DEVICES, repeated: 0, executed: DEVICES })
    },
    LONG_MS * 2,
  )
})
