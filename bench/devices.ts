/**
 * Whole operations per second through everything: a service and the simulator, each a process of its own, one job over a fleet that
 * acknowledges, tells of one part and ends, over one way at a time. Devices answer at once, so that the service sets the pace.
 */

import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, startChild } from '../src/cli/processes/child.ts'
import { fleetDevices } from '../src/simulator/devices.ts'
import type { Flow } from '../src/simulator/options.ts'
import type { Figures, Measurement } from './figures.ts'
import { onDatabaseOf } from './million-entities.ts'
import { type BenchService, databaseSeconds, processorSeconds, source, startService } from './processes.ts'

const WITHIN_MS = 300_000
const JOBS = 3
/** Jobs that are not measured: a service that is at work has compiled what it runs. */
const JOBS_BEFORE = 4
/** From this portion of a job on its end is near. */
const NEARLY = 0.9

const BARE_DOORS: Partial<Record<Flow, string>> = {
  mqtt: '`aedes`',
  'http-async': '`node:http` and `undici`',
  pull: '`node:http`',
}

/** `http` is the asynchronous exchange, in which each message is a request of its own. `beside`: what is measured in the same run. */
export function devices(
  name: string,
  flow: Flow,
  least: number,
  fleet = 5_000,
  beside: (flow: Flow, fleet: number) => Promise<number | undefined> = bareRate,
): Measurement {
  return {
    name,
    about: `${JOBS} jobs one after the other, behind ${JOBS_BEFORE} that are not measured, over ${fleet.toLocaleString('en')} devices of the simulator (${flow}${flow === 'mqtt' ? ', each of which publishes what it has to say without waiting for the acknowledgement of the message before, as MQTT clients do' : ''}); then as many, spread so that half of the rate is offered that was reached, at most half of the target: where \`offered\` does not reach its own target the times of answers are those of this machine at its half, not at the target's; what is reached of it has the making and the last answers of each job in it; bare doors are the same fleet's operations where the service is but ${BARE_DOORS[flow]} as it comes, judges nothing and keeps nothing`,
    targets: {
      'operations/s': { least },
      [OFFERED]: { least: least / 2 },
      [KEPT]: { least: 0.8 },
      [ACKNOWLEDGED]: { most: 100 },
    },
    async open() {
      const service = await startService()
      const children: Child[] = []
      async function close() {
        for (const child of children.toReversed()) await child.end(10_000)
        await service.stop()
      }
      try {
        const { simulator } = await bringUp(service, flow, fleet, children)
        // A fleet that has just been provisioned has no statistics yet; autovacuum would come in a minute.
        await onDatabaseOf(service, database => database.query('vacuum analyze entity'))
        for (let job = 0; job < JOBS_BEFORE; job += 1) await runJob(service, fleet)
        return {
          async run() {
            const bare = await beside(flow, fleet)
            const figures = await measure(service, simulator, fleet, least)
            if (bare === undefined) return figures
            return { ...figures, [BARE]: bare, 'operations/s / bare doors': figures['operations/s']! / bare }
          },
          close,
        }
      } catch (error) {
        await close()
        throw error
      }
    },
  }
}

async function measure(service: BenchService, simulator: Child, fleet: number, least: number): Promise<Figures> {
  const cpu = () =>
    [
      processorSeconds(service.child.process.pid!),
      databaseSeconds(service.postgres.pid),
      processorSeconds(simulator.process.pid!),
    ] as const
  const before = cpu()
  const startedAt = performance.now()
  for (let job = 0; job < JOBS; job += 1) await runJob(service, fleet)
  const s = (performance.now() - startedAt) / 1000
  const after = cpu()
  const operations = fleet * JOBS
  const offered = Math.min(operations / s, least) / 2
  await answersOf(simulator)
  const spreadAt = performance.now()
  for (let job = 0; job < JOBS; job += 1) await runJob(service, fleet, spreadOver(fleet / offered))
  const spreadS = (performance.now() - spreadAt) / 1000
  const { p50, p99 } = await answersOf(simulator)
  return {
    'operations/s': operations / s,
    'service, CPU ms per operation': ((after[0] - before[0]) * 1000) / operations,
    'database, CPU ms per operation': ((after[1] - before[1]) * 1000) / operations,
    'simulator, CPU ms per operation': ((after[2] - before[2]) * 1000) / operations,
    [OFFERED]: offered,
    [KEPT]: operations / spreadS / offered,
    'at half the rate, message to acknowledgement, median ms': p50,
    [ACKNOWLEDGED]: p99,
  }
}

const BARE = 'bare doors, operations/s'
const OFFERED = 'at half the rate, offered, operations/s'
const KEPT = 'at half the rate, reached / offered'
const ACKNOWLEDGED = 'at half the rate, message to acknowledgement, p99 ms'

/** How long the messages took that the fleet has sent since it was last asked. */
async function answersOf(simulator: Child): Promise<{ p50: number; p99: number }> {
  asked += 1
  const question = `answers ${asked}`
  simulator.process.stdin?.write(`${question}\n`)
  const { answers } = await simulator.line(line => line.asked === question, 10_000)
  return answers as { p50: number; p99: number }
}

let asked = 0

/** A schedule that spreads a job over so many seconds: a tenth of the time to its stop, of which half is kept free. */
function spreadOver(seconds: number): Record<string, unknown> {
  return { stop: { delayed: Math.round(seconds * 20_000) }, scattering: { maxSpread: 10 } }
}

/** What a simulator is told: where the service is, and its fleet, of which each device that asks has a connection of its own. */
const fleetOptions = (url: string, mqtt: string, flow: Flow, fleet: number) => [
  ...['--url', url, '--mqtt', mqtt, '--devices', String(fleet), '--flows', `${flow}=1`],
  ...['--pull-concurrency', String(fleet)],
]

/** Starts a simulator whose devices are switched on at its line `go`; answers also where they listen. */
async function startSimulator(common: readonly string[], apiKey: string, children: Child[]) {
  const simulator = startChild(
    path.join(import.meta.dirname, 'simulator-process.ts'),
    [...common, '--hold', '--exit-with-parent', '--latency', '0', '--parts', '1'],
    { DROVER_API_KEY: apiKey },
    ['--max-semi-space-size=16'],
  )
  children.push(simulator)
  const { listening } = (await simulator.line(line => 'listening' in line, 60_000)) as { listening: { url: string } }
  return { simulator, url: listening.url }
}

async function connect(simulator: Child): Promise<void> {
  simulator.process.stdin?.write('go\n')
  await simulator.line(line => 'ready' in line, 120_000)
}

/** Provisions a fleet of one flow, then connects it; answers its process and how long the connecting took. */
export async function bringUp(
  { client, apiKey, mqtt }: BenchService,
  flow: Flow,
  fleet: number,
  children: Child[],
): Promise<{ simulator: Child; connectMs: number }> {
  const common = fleetOptions(client.url, mqtt, flow, fleet)
  const { simulator, url } = await startSimulator(common, apiKey, children)
  const list = startChild(source('simulator/main.ts'), [
    ...common,
    '--list',
    '--organization',
    'drover',
    '--listen-port',
    new URL(url).port,
  ])
  children.push(list)
  const listed = await list.line(line => 'entities' in line, 60_000)
  await client.call('POST /provision/organizations/{organization}/bulk/entities', {
    path: { organization: 'drover' },
    query: { action: 'CREATE', flattened: true },
    body: listed as { entities: Record<string, unknown>[] },
  })
  const goesAt = performance.now()
  await connect(simulator)
  return { simulator, connectMs: performance.now() - goesAt }
}

/** Operations per second of the same fleet where the service is but its doors. Nothing of it is left when this answers. */
async function bareRate(flow: Flow, fleet: number): Promise<number> {
  const children: Child[] = []
  try {
    const bare = startChild(path.join(import.meta.dirname, 'bare-doors-process.ts'), [])
    children.push(bare)
    const { ready } = (await bare.line(line => 'ready' in line, 60_000)) as { ready: { url: string; mqtt: string } }
    const common = fleetOptions(ready.url, ready.mqtt, flow, fleet)
    const { simulator, url } = await startSimulator(common, 'any', children)
    await connect(simulator)
    const ids = fleetDevices({ devices: fleet, flows: { [flow]: 1 }, prefix: 'sim' }, url).map(({ id }) => id)
    let startedAt = 0
    for (let job = 1; job <= JOBS_BEFORE + JOBS; job += 1) {
      if (job === JOBS_BEFORE + 1) startedAt = performance.now()
      bare.process.stdin?.write(`${JSON.stringify({ flow, devices: ids, url })}\n`)
      const told = await bare.line(line => line.ran === job || 'failed' in line, WITHIN_MS)
      if ('failed' in told) throw new Error(`the bare doors failed: ${told.failed}`)
    }
    return (fleet * JOBS * 1000) / (performance.now() - startedAt)
  } finally {
    for (const child of children.toReversed()) await child.end(10_000)
  }
}

async function runJob({ client }: BenchService, fleet: number, schedule: Record<string, unknown> = {}): Promise<void> {
  const request = {
    name: 'REBOOT_EQUIPMENT',
    parameters: {},
    active: true,
    schedule,
    operationParameters: { ackTimeout: 60_000, timeout: 120_000, retries: 0 },
    target: { append: { tags: ['sim'] } },
  }
  const { id: jobId } = await client.call('POST /operation/jobs', { body: { job: { request } } })
  const until = performance.now() + WITHIN_MS
  for (;;) {
    const { report } = await client.call('GET /operation/jobs/{jobId}', { path: { jobId } })
    const { status, finished } = report.summary
    if (status === 'FINISHED' && finished.successful === fleet) return
    if (status.startsWith('FINISHED') || performance.now() > until) {
      throw new Error(`the job is ${status} with ${finished.successful} of ${fleet} successful`)
    }
    // Each look is a request to the service that is measured: near the end alone it is looked for often.
    await sleep(finished.successful < fleet * NEARLY ? 100 : 20)
  }
}
