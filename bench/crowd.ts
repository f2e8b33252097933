/**
 * Ten thousand devices that are there and have nothing to do: what a node takes to hold them, and how soon one of them is reached. A
 * service and the simulator, each a process of its own; pull devices all have their call held at the same time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from '../src/cli/processes/child.ts'
import { bringUp } from './devices.ts'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { type BenchService, processorSeconds, residentMb, startService } from './processes.ts'

const IDLE_MS = 20_000
const REACHED = 200

/** Holds a crowd over one way. */
export function crowd(name: string, flow: 'mqtt' | 'pull', fleet = 10_000): Measurement {
  return {
    name,
    about: `${fleet.toLocaleString('en')} devices (${flow}) on one node: coming, waiting for ${IDLE_MS / 1000} s, then ${REACHED} jobs on one of them each`,
    targets: {
      'connected/s': { least: 500 },
      'KB per device': { most: flow === 'mqtt' ? 40 : 80 },
      'one job, p50 ms': { most: 250 },
    },
    async run() {
      const service = await startService()
      const children: Child[] = []
      try {
        return await measure(service, flow, fleet, children)
      } finally {
        for (const child of children.toReversed()) await child.end(10_000)
        await service.stop()
      }
    },
  }
}

async function measure(
  service: BenchService,
  flow: 'mqtt' | 'pull',
  fleet: number,
  children: Child[],
): Promise<Figures> {
  const pid = service.child.process.pid!
  const alone = residentMb(pid)
  const { connectMs } = await bringUp(service, flow, fleet, children)
  await sleep(IDLE_MS / 4)
  const cpuBefore = processorSeconds(pid)
  await sleep(IDLE_MS)
  const idleCpu = processorSeconds(pid) - cpuBefore
  const crowded = residentMb(pid)
  const latencies: number[] = []
  for (let k = 0; k < REACHED; k += 1) latencies.push(await reach(service, `sim-${(k * 7_919) % fleet}`))
  return {
    'connected/s': fleet / (connectMs / 1000),
    'MB alone': alone,
    'MB with all': crowded,
    'KB per device': ((crowded - alone) * 1024) / fleet,
    'idle, CPU ms per s': (idleCpu * 1000) / (IDLE_MS / 1000),
    'one job, p50 ms': quantile(latencies, 0.5),
    'one job, p95 ms': quantile(latencies, 0.95),
    'one job, slowest ms': Math.max(...latencies),
  }
}

/** One job on one device; ms from its creation until it has succeeded. */
async function reach({ client }: BenchService, device: string): Promise<number> {
  const since = performance.now()
  const request = {
    name: 'REBOOT_EQUIPMENT',
    parameters: {},
    active: true,
    operationParameters: { ackTimeout: 60_000, timeout: 60_000, retries: 0 },
    target: { append: { entities: [device] } },
  }
  const { id: jobId } = await client.call('POST /operation/jobs', { body: { job: { request } } })
  for (;;) {
    const { report } = await client.call('GET /operation/jobs/{jobId}', { path: { jobId } })
    const { status } = report.summary
    if (status === 'FINISHED') return performance.now() - since
    if (status.startsWith('FINISHED')) throw new Error(`the job of ${device} is ${status}`)
    await sleep(5)
  }
}
