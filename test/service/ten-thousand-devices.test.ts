/**
 * Ten thousand devices on one node, the simulator as a process of its own: all there at once, over MQTT or with their question held, and
 * each doing one operation of one job, once. Left out, with a word, where the system gives a process too few open files.
 */
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type Child, startChild } from '../../src/cli/processes/child.ts'
import { provisioningOf } from '../../src/simulator/devices.ts'
import { openHouse } from './house.ts'
import { countersOf, createJob, readJob } from './jobs.ts'

const DEVICES = Number(process.env.DROVER_TEST_CROWD ?? 10_000)
const LONG_MS = 300_000
/** Node asks for as many as it may have. */
const filesMax = Number(execFileSync('sh', ['-c', 'ulimit -Hn']).toString()) || Number.POSITIVE_INFINITY
const isRoomy = filesMax >= DEVICES + 2_000
if (!isRoomy) process.stdout.write(`${filesMax} open files a process: too few for ${DEVICES} devices\n`)

async function metric(url: string, name: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text()
  return Number(
    page
      .split('\n')
      .find(line => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1),
  )
}

describe.skipIf(!isRoomy).each(['mqtt', 'pull'] as const)(`${DEVICES} devices over %s on one node`, async flow => {
  if (!isRoomy) return
  const house = await openHouse({ DROVER_PULL_CALLS_MAX: String(DEVICES + 1_000) })
  const { client } = house
  const children: Child[] = []
  afterAll(async () => {
    for (const child of children) await child.end(20_000)
  })

  /** The counters of the fleet once they are as wanted. */
  const told = (simulator: Child, isWanted: (counters: Record<string, number>) => boolean) =>
    simulator.line(({ counters }) => counters !== undefined && isWanted(counters as Record<string, number>), LONG_MS)

  test(
    'are held all at once, and do one job, each its operation once',
    async () => {
      const devices = Array.from({ length: DEVICES }, (_, k) => ({ id: `sim-${k}`, flow, tags: ['sim'] }))
      const { status } = await client.call(
        'POST',
        '/north/v80/provision/organizations/drover/bulk/entities?action=CREATE&flattened=true',
        { entities: devices.map(device => provisioningOf(device, 'drover')) },
      )
      expect(status).toBe(200)
      const simulator = startChild(
        path.join(import.meta.dirname, '../../src/simulator/main.ts'),
        [
          ...['--url', house.url, '--mqtt', house.mqtt, '--exit-with-parent'],
          ...['--devices', String(DEVICES), '--flows', `${flow}=1`, '--latency', '0', '--parts', '0'],
          ...['--pull-concurrency', String(DEVICES), '--pull-wait', '60', '--stats-every', '1'],
        ],
        { DROVER_API_KEY: house.apiKey },
        ['--max-semi-space-size=16'],
      )
      children.push(simulator)
      await simulator.line(line => 'ready' in line, LONG_MS)
      if (flow === 'mqtt') {
        await told(simulator, ({ connected }) => connected === DEVICES)
        await expect
          .poll(() => metric(house.url, 'drover_connected_devices'), { timeout: LONG_MS, interval: 500 })
          .toBe(DEVICES)
      } else await told(simulator, ({ pulls }) => pulls! >= DEVICES)

      const { id } = await createJob(client, {
        name: 'REBOOT_EQUIPMENT',
        active: true,
        target: { append: { tags: ['sim'] } },
        operationParameters: { timeout: LONG_MS },
      })
      await expect
        .poll(async () => (await readJob(client, id)).report.summary.status, { timeout: LONG_MS, interval: 500 })
        .toMatch(/^FINISHED/)
      const { total, finished } = countersOf(await readJob(client, id))
      expect({ total, successful: finished.successful }).toEqual({ total: DEVICES, successful: DEVICES })
      const verified = await client.call('GET', '/north/v80/operation/verify')
      expect(verified.body).toMatchObject({ differences: [] })
      const { counters } = await told(simulator, ({ finals }) => finals === DEVICES)
      expect(counters).toMatchObject({ received: DEVICES, repeated: 0, executed: DEVICES, doubled: 0 })
    },
    LONG_MS * 2,
  )
})
