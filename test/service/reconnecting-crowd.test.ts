/**
 * Thousands of devices that lose their connections to the embedded broker in the same instant, in the middle of a job, and all come back:
 * each does its operation once, in its first attempt, and the counters are exact.
 */
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startChild } from '../../src/cli/processes/child.ts'
import type { VerifyView } from '../../src/contract/verify.ts'
import { provisioningOf } from '../../src/simulator/devices.ts'
import type { FleetCounters } from '../../src/simulator/ledger.ts'
import { openHouse } from './house.ts'
import { countersOf, createJob, readJob, readOperations, recount } from './jobs.ts'
import { drawWireInThread } from './wire-thread.ts'

const DEVICES = Number(process.env.DROVER_TEST_DEVICES ?? 2_000)
const LONG_MS = 300_000
const SIMULATOR = path.join(import.meta.dirname, '../../src/simulator/main.ts')
const BULK = '/north/v80/provision/organizations/drover/bulk/entities?action=CREATE&flattened=true'

const house = await openHouse()
const wire = await drawWireInThread(house.mqtt)
afterAll(() => wire.close())
const { client } = house

test(
  `${DEVICES} devices with open operations reconnect at once, twice, and each operation is done once`,
  async () => {
    const devices = Array.from({ length: DEVICES }, (_, k) => ({
      id: `sim-${k}`,
      flow: 'mqtt' as const,
      tags: ['sim'],
    }))
    const { status } = await client.call('POST', BULK, {
      entities: devices.map(device => provisioningOf(device, 'drover')),
    })
    expect(status).toBe(200)
    const simulator = startChild(
      SIMULATOR,
      [
        ...['--url', house.url, '--mqtt', wire.url, '--exit-with-parent'],
        ...['--devices', String(DEVICES), '--flows', 'mqtt=1', '--parts', '1'],
        ...['--latency', '100..8000', '--stats-every', '1'],
      ],
      { DROVER_API_KEY: house.apiKey },
    )
    afterAll(() => simulator.end(20_000))
    const told = async (isWanted: (counters: FleetCounters) => boolean) => {
      const line = await simulator.line(each => 'counters' in each && isWanted(each.counters as FleetCounters), LONG_MS)
      return line.counters as FleetCounters
    }
    await told(({ connected }) => connected === DEVICES)

    // Nothing is retried: what a connection swallows has to be sent again by itself.
    const { id } = await createJob(client, {
      name: 'REBOOT_EQUIPMENT',
      active: true,
      target: { append: { tags: ['sim'] } },
      operationParameters: { ackTimeout: LONG_MS, timeout: LONG_MS, retries: 0 },
    })
    await told(({ received }) => received > DEVICES * 0.1)
    expect(await wire.cut()).toBe(DEVICES)
    // They may all have been sent their requests before the first cut: what is cut again is their way back.
    await told(({ reconnects }) => reconnects > DEVICES * 0.6)
    expect(await wire.cut()).toBeGreaterThan(0)
    await expect
      .poll(async () => (await readJob(client, id)).report.summary.status, { timeout: LONG_MS, interval: 500 })
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
    expect(new Set(operations.map(({ attempts }) => attempts.current))).toEqual(new Set([1]))
    const verified = await client.call<VerifyView>('GET', '/north/v80/operation/verify')
    expect(verified.body).toEqual({ jobs: 1, differences: [] })
    const done = await told(({ finals }) => finals === DEVICES)
    expect(done).toMatchObject({ executed: DEVICES, doubled: 0, refused: 0, undelivered: 0 })
    expect(done.reconnects).toBeGreaterThanOrEqual(DEVICES)
  },
  LONG_MS * 2,
)
