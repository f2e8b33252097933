/**
 * The main job from end to end on real parts: a service on its embedded database and broker, a fleet in a process of its own, one
 * UPDATE on all of it, both callbacks, and the counters held against a recount. Ends with 0 only when all of it holds.
 */
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Client,
  createClient,
  type JobRequestSchema,
  type JobView,
  type OperationView,
} from '../../../contract/client/client.ts'
import { type Child, startChild } from '../../processes/child.ts'
import { entry, SIMULATOR_FLAGS, TYPED } from '../../processes/entries.ts'
import { createJobProgress, type ShownSummary } from '../jobs/job-progress.ts'
import { type CallbackReceiver, openCallbackReceiver } from './callback-receiver.ts'

export interface DemoOptions {
  readonly devices: number
  /** share of the operations that devices report as failed, 0 to 1 */
  readonly fail: number
  readonly seed: number
  /** leave everything running until interrupted */
  readonly keep: boolean
}

const FINAL = ['FINISHED', 'FINISHED_WITH_ERRORS', 'CANCELLED', 'TIMEOUT_CANCELLED']
const START_MS = 60_000
const JOB_MS = 600_000
const PREFIX = 'sim'
const EMAIL = 'demo@example.com'
const say = (text: string) => process.stdout.write(`${text}\n`)

/** Runs the demo; answers the exit code. Everything it starts it ends, and its folder goes with it, unless it is kept. */
export async function runDemo(options: DemoOptions): Promise<number> {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-demo-'))
  // Started by root, the database runs as somebody else, who must be able to enter.
  await chmod(folder, 0o711)
  const children: Child[] = []
  const receiver = await openCallbackReceiver()
  const interrupted = new Promise<void>(resolve => process.once('SIGINT', resolve).once('SIGTERM', resolve))
  try {
    const story = tell(options, folder, receiver, children)
    const code = await Promise.race([story, interrupted.then(() => 130)])
    if (options.keep && code !== 130) {
      say('\nIt is kept running until you interrupt it (Ctrl-C).')
      await interrupted
    }
    return code
  } finally {
    receiver.close()
    for (const child of children.toReversed()) await child.end(10_000)
    await rm(folder, { recursive: true, force: true })
  }
}

async function tell(
  options: DemoOptions,
  folder: string,
  receiver: CallbackReceiver,
  children: Child[],
): Promise<number> {
  const [apiKey, password] = [randomBytes(24).toString('base64url'), randomBytes(12).toString('base64url')]
  const service = startChild(entry('main'), [], {
    DROVER_DATA_DIR: path.join(folder, 'data'),
    DROVER_HOST: '127.0.0.1',
    DROVER_PORT: '0',
    DROVER_MQTT_PORT: '0',
    DROVER_ADMIN_EMAIL: EMAIL,
    DROVER_ADMIN_PASSWORD: password,
    DROVER_ADMIN_API_KEY: apiKey,
    DROVER_CALLBACK_ALLOW_LOOPBACK: 'true',
    DROVER_LOG_LEVEL: 'info',
  })
  children.push(service)
  const ready = await service.line(line => line.msg === 'ready', START_MS)
  const url = String(ready.url)
  const mqtt = `mqtt://127.0.0.1:${ready.mqttPort}`
  const client = createClient({ url, credentials: () => ({ 'x-apikey': apiKey }) })
  say(`The service listens at ${url}, its broker at ${mqtt}.`)

  await bringUpFleet(options, { client, apiKey, mqtt, children })
  const job = await client.call('POST /operation/jobs', { body: { job: { request: request(receiver.url) } } })
  say(`Job ${job.id}: UPDATE on every device tagged "${PREFIX}".`)
  const summary = await watch(client, job.id)
  const started = (await receiver.received('jobStarted', 30_000)) as { job: JobView }
  const finished = (await receiver.received('jobFinished', 30_000)) as { job: JobView }
  say(`Callbacks received: jobStarted and jobFinished of job ${finished.job.id}.`)

  const { recount, samples } = await readBack(client, job.id)
  say(`\nreport.summary\n${JSON.stringify(summary, null, 2)}\n\nFive operations`)
  for (const operation of samples) say(describe(operation))
  say(`\nThe service listens at ${url}, its broker at ${mqtt}; the organization is drover.`)
  const faults = [
    ...(started.job.id === job.id && finished.job.id === job.id ? [] : ['a callback was about another job']),
    ...(summary.total === options.devices ? [] : [`${summary.total} operations on ${options.devices} devices`]),
    ...(summary.inProgress.total === 0 ? [] : [`${summary.inProgress.total} operations reached no final state`]),
    ...differences(summary, recount),
  ]
  if (faults.length === 0) say('Every operation reached a final state, and the counters agree with a recount.')
  for (const fault of faults) say(`FAULT: ${fault}`)
  if (options.keep) say(waysIn(url, apiKey, password))
  return faults.length === 0 ? 0 : 1
}

/** How people look at what is kept running. */
function waysIn(url: string, apiKey: string, password: string): string {
  return `
To look at it, open the console and sign in:

  ${url}/console
  ${EMAIL}
  ${password}

To ask it from another terminal:

  export DROVER_URL=${url} DROVER_API_KEY=${apiKey}
  ${TYPED} jobs list`
}

function request(callback: string): JobRequestSchema {
  return {
    name: 'UPDATE',
    parameters: {
      bundleName: 'demo',
      bundleVersion: '2.0',
      deploymentElements: [
        {
          name: 'firmware',
          version: '2.0',
          type: 'FIRMWARE',
          downloadUrl: 'http://127.0.0.1/firmware.bin',
          path: '/firmware.bin',
          order: 1,
          operation: 'INSTALL',
        },
      ],
    },
    active: true,
    callback,
    userNotes: 'the demo',
    schedule: { stop: { delayed: JOB_MS } },
    operationParameters: { ackTimeout: 30_000, timeout: 60_000, retries: 1, retriesDelay: 1_000, retryResultList: [] },
    target: { append: { tags: [PREFIX] } },
  }
}

async function bringUpFleet(
  { devices, fail, seed }: DemoOptions,
  { client, apiKey, mqtt, children }: { client: Client; apiKey: string; mqtt: string; children: Child[] },
): Promise<void> {
  const common = ['--url', client.url, '--mqtt', mqtt, '--devices', String(devices), '--prefix', PREFIX]
  // Whoever lists the processes of the machine sees their arguments.
  const env = { DROVER_API_KEY: apiKey }
  const fleet = startChild(
    entry('simulator/main'),
    [...common, '--hold', '--exit-with-parent', '--fail', String(fail), '--seed', String(seed)],
    env,
    SIMULATOR_FLAGS,
  )
  children.push(fleet)
  const { listening } = (await fleet.line(line => 'listening' in line, START_MS)) as { listening: { url: string } }
  const port = new URL(listening.url).port
  const list = startChild(
    entry('simulator/main'),
    [...common, '--list', '--organization', 'drover', '--listen-port', port],
    env,
  )
  children.push(list)
  const { entities } = (await list.line(line => 'entities' in line, START_MS)) as {
    entities: Record<string, unknown>[]
  }
  await client.call('POST /provision/organizations/{organization}/bulk/entities', {
    path: { organization: 'drover' },
    query: { action: 'CREATE', flattened: true },
    body: { entities },
  })
  say(`${devices} devices are provisioned.`)
  fleet.process.stdin?.write('go\n')
  const { ready } = (await fleet.line(line => 'ready' in line, START_MS)) as { ready: { flows: object } }
  say(
    `The fleet is up: ${Object.entries(ready.flows)
      .map(([flow, count]) => `${count} ${flow}`)
      .join(', ')}.`,
  )
}

/** Follows a job until it has ended. */
async function watch(client: Client, job: string): Promise<ShownSummary> {
  const progress = createJobProgress()
  const until = Date.now() + JOB_MS
  try {
    for (;;) {
      const { summary } = (await client.call('GET /operation/jobs/{jobId}', { path: { jobId: job } })).report
      progress.show(summary)
      if (FINAL.includes(summary.status)) return summary
      if (Date.now() > until) throw new Error(`the job is still ${summary.status} after ${JOB_MS} ms`)
      await sleep(250)
    }
  } finally {
    progress.end()
  }
}

/** Reads every operation and counts them, as a distrustful client would. */
async function readBack(
  client: Client,
  job: string,
): Promise<{ recount: Map<string, number>; samples: OperationView[] }> {
  const recount = new Map<string, number>()
  const samples: OperationView[] = []
  for (let page = 1; ; page += 1) {
    const answer = await client.call('GET /operation/jobs/{jobId}/operations', {
      path: { jobId: job },
      query: { start: page, size: 1_000 },
    })
    if (!answer) break
    for (const operation of answer.operations) {
      const kind = kindOf(operation)
      recount.set(kind, (recount.get(kind) ?? 0) + 1)
      if (samples.length < 5 || (kind !== 'successful' && samples.length < 6)) samples.push(operation)
    }
    if (page >= answer.page.of) break
  }
  return { recount, samples: samples.slice(-5) }
}

function kindOf({ status, result }: OperationView): string {
  if (status === 'FINISHED_OUT_OF_TIME') return 'late'
  if (status === 'FINISHED' && (result === 'SUCCESSFUL' || result === 'PARTIAL_SUCCESS')) return 'successful'
  if (status === 'FINISHED' || status === 'NOT_ALLOWED') return 'error'
  return status === 'CANCELLED' || status === 'TIMEOUT_CANCELLED' ? 'cancelled' : 'open'
}

function differences(summary: ShownSummary, recount: ReadonlyMap<string, number>): string[] {
  const counters: Record<string, number> = {
    successful: summary.finished.successful,
    error: summary.finished.error,
    cancelled: summary.finished.cancelled.total,
    late: summary.finishedOutOfTime.total,
    open: summary.inProgress.total,
  }
  return Object.entries(counters)
    .filter(([kind, count]) => (recount.get(kind) ?? 0) !== count)
    .map(([kind, count]) => `the counters say ${count} ${kind}, a recount ${recount.get(kind) ?? 0}`)
}

function describe({ entityId, status, result, description, steps }: OperationView): string {
  const shown = steps.map(step => `    ${step.timestamp}  ${step.name} ${step.result}`)
  return [`  ${entityId}  ${status} ${result}${description ? ` (${description})` : ''}`, ...shown].join('\n')
}
