/**
 * Everything that takes part in a run, each a process of its own: PostgreSQL, a broker, the nodes and the fleet, with relays between
 * them whose connections can be cut, and a receiver of callbacks. It brings them up and down and judges nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { type FleetDevice, provisioningOf } from '../../src/simulator/devices.ts'
import type { FleetCounters } from '../../src/simulator/ledger.ts'
import type { FleetRequest } from '../../src/simulator/options.ts'
import { freePort } from '../../src/store/postmaster.ts'
import { type Balancer, openBalancer } from '../service/balancer.ts'
import { createMosquitto, type Mosquitto, mosquittoProgram } from '../south/mosquitto.ts'
import { createStubbornClient, type StubbornClient } from './client.ts'
import { type ChaosDatabase, startChaosDatabase } from './database.ts'
import type { ToldEvent } from './fleet.ts'
import { collectLag, type Lag, watchLag } from './lag.ts'
import { createNode, type ServiceNode } from './nodes.ts'
import { type FailingReceiver, openFailingReceiver } from './receiver.ts'

export interface WorldOptions {
  readonly seed: number
  readonly nodes: number
  /** devices of the first organization; the second has a tenth of it */
  readonly devices: number
  /** without a broker every node brings its own */
  readonly broker: 'mosquitto' | 'embedded'
  readonly fleet?: Partial<FleetRequest>
  /** a folder for the database alone; beside everything else unless told */
  readonly disk?: string
  /** where the clock of the database, which is that of the nodes, stands at first; at the present unless told */
  readonly clockAt?: Date
  readonly variables?: Readonly<Record<string, string>>
}

/** An organization, its administrator's client and its devices. */
export interface Party {
  readonly organization: string
  readonly client: StubbornClient
  readonly devices: readonly FleetDevice[]
}

export interface World {
  readonly folder: string
  readonly database: ChaosDatabase
  readonly nodes: readonly ServiceNode[]
  readonly broker: Mosquitto | null
  readonly receiver: FailingReceiver
  readonly parties: readonly [Party, Party]
  /** in front of the nodes, of the broker for devices, of the broker for nodes, and of the devices that listen */
  readonly relays: {
    readonly http: Balancer
    readonly mqtt: Balancer
    readonly link: Balancer | null
    readonly devices: readonly Balancer[]
  }
  /** everything told by the devices, in the order in which it was told */
  readonly events: ToldEvent[]
  readonly lag: Lag
  /** how late at most, in milliseconds, a device was reached between two instants: its connection made, and the fleet at work */
  reachedLateMs(fromMs: number, toMs: number): number
  /** when something was last told, on this process's clock */
  lastEventAt(): number
  /** whether the fleet is there to get it */
  fleetSignal(signal: NodeJS.Signals): boolean
  /** Ends the fleet and answers what it counted. */
  endFleet(): Promise<FleetCounters[]>
  close(): Promise<void>
}

/** How long after it was handed to a device that asks an operation not heard of is offered again. */
export const REDELIVERY_MS = 5_000
const READY_MS = 120_000
const rootKey = 'the-key-of-the-root-user-of-a-run'
const otherKey = 'the-key-of-the-other-organization'
/** How the devices behave: some lose, repeat, delay and reorder what they say. */
const ROUGH: Partial<FleetRequest> = {
  latency: { shape: 'uniform', minMs: 50, maxMs: 1_500 },
  fail: 0.03,
  silent: 0.02,
  duplicate: 0.05,
  late: 0.01,
  lateByMs: 20_000,
  reorder: 0.05,
  parts: 1,
  pullWaitS: 5,
  // Devices do not share connections: a node that hangs must not hold up the answers for others.
  postConnections: 512,
}

export { mosquittoProgram }

const open = new Set<() => Promise<void>>()

/** Closes what is open: for a process that is told to end in the middle of a run. */
export async function closeWorlds(): Promise<void> {
  await Promise.all([...open].map(close => close()))
}

export async function openWorld(options: WorldOptions): Promise<World> {
  const stops: (() => Promise<void> | void)[] = []
  const close = async () => {
    open.delete(close)
    for (const stop of stops.splice(0).toReversed()) await Promise.resolve(stop()).catch(() => {})
  }
  open.add(close)
  try {
    return { ...(await build(options, stop => stops.push(stop))), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function build(
  { seed, nodes: count, devices, broker: kind, fleet: behaviour, disk, clockAt, variables = {} }: WorldOptions,
  atClose: (stop: () => Promise<void> | void) => void,
): Promise<Omit<World, 'close'>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-chaos-'))
  await chmod(folder, 0o711)
  if (!process.env.DROVER_TEST_KEEP) atClose(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }))
  const database = await startChaosDatabase(disk ?? folder, clockAt)
  atClose(() => database.stop())
  const over = new AbortController()
  const lag = collectLag()
  atClose(watchLag(lag.add))
  const receiver = await openFailingReceiver(seed)
  atClose(() => receiver.close())
  const relay = async (ports: readonly number[]) => {
    const opened = await openBalancer(ports)
    atClose(() => opened.close())
    return opened
  }

  const broker = kind === 'mosquitto' ? await createMosquitto(mosquittoProgram ?? 'mosquitto') : null
  if (broker) atClose(() => broker.remove())
  await broker?.start()
  const link = broker ? await relay([Number(new URL(broker.url).port)]) : null

  const ports = await Promise.all(Array.from({ length: count }, () => freePort()))
  const mqttPorts = await Promise.all(Array.from({ length: count }, () => freePort()))
  const secret = randomBytes(24).toString('hex')
  await mkdir(path.join(folder, 'logs'))
  const nodes = ports.map((port, index) =>
    createNode({
      name: `node ${index}`,
      port,
      logFile: path.join(folder, 'logs', `node-${index}.log`),
      variables: {
        DATABASE_URL: database.url,
        DROVER_DATA_DIR: path.join(folder, `node-${index}`),
        DROVER_DATABASE_CONNECTIONS_MAX: '10',
        DROVER_SECRET: secret,
        DROVER_ADMIN_API_KEY: rootKey,
        DROVER_CALLBACK_ALLOW_LOOPBACK: 'true',
        DROVER_PULL_REDELIVERY_MS: String(REDELIVERY_MS),
        DROVER_MIN_OPERATION_TIMEOUT_MS: '0',
        DROVER_BODY_BYTES_MAX: '10000000',
        // What a node sends again, and why, is told at this level alone: the judge reads it.
        DROVER_LOG_LEVEL: 'debug',
        ...(link
          ? { DROVER_MQTT_URL: `mqtt://127.0.0.1:${link.port}`, DROVER_MQTT_CLIENT_ID: `chaos-${index}` }
          : { DROVER_MQTT_PORT: String(mqttPorts[index]) }),
        ...variables,
      },
    }),
  )
  atClose(() => Promise.all(nodes.map(node => node.kill())).then(() => {}))
  for (const node of nodes) node.start()
  await Promise.all(nodes.map(node => node.ready(READY_MS)))
  const http = await relay(ports)
  const mqtt = await relay(broker ? [Number(new URL(broker.url).port)] : mqttPorts)

  const clients = [rootKey, otherKey].map(key => createStubbornClient(http.url, key, over.signal))
  atClose(() => over.abort(new Error('the run is over')))
  await makeOtherOrganization(clients[0]!)
  const common = { ...ROUGH, ...behaviour, seed, url: http.url, mqtt: `mqtt://127.0.0.1:${mqtt.port}` }
  const fleet = await startFleet([
    { ...common, apiKey: rootKey, devices, prefix: 'sim' },
    { ...common, apiKey: otherKey, devices: Math.ceil(devices / 10), prefix: 'other' },
  ])
  atClose(() => fleet.end().then(() => {}))
  const relayToDevices = await Promise.all(fleet.listening.map(({ url }) => relay([Number(new URL(url).port)])))
  const organizations = ['drover', 'other']
  const parties = await Promise.all(
    fleet.listening.map(async ({ url, devices }, index) => {
      const reached = devices.map(device =>
        device.url ? { ...device, url: device.url.replace(url, relayToDevices[index]!.url) } : device,
      )
      const party: Party = { organization: organizations[index]!, client: clients[index]!, devices: reached }
      await provision(party)
      return party
    }),
  )
  await fleet.connect()
  const [first, second] = parties
  return {
    folder,
    database,
    nodes,
    broker,
    receiver,
    parties: [first!, second!],
    relays: { http, mqtt, link, devices: relayToDevices },
    events: fleet.events,
    lag,
    reachedLateMs: (fromMs, toMs) =>
      Math.max(...relayToDevices.map(each => each.slowestJoinMs(fromMs, toMs))) + fleet.lag.between(fromMs, toMs),
    lastEventAt: fleet.lastEventAt,
    fleetSignal: signal => fleet.process.kill(signal),
    endFleet: fleet.end,
  }
}

async function makeOtherOrganization(root: StubbornClient): Promise<void> {
  await expectStatus(root, 'POST', '/north/v80/provision/organizations', { organization: { name: 'other' } })
  const user = {
    email: 'other@drover.test',
    password: 'a long sentence',
    profile: 'admin_domain',
    apiKey: otherKey,
    domain: 'other',
  }
  await expectStatus(root, 'POST', '/north/v80/provision/users', { user })
}

async function expectStatus(client: StubbornClient, method: string, path: string, body: unknown): Promise<void> {
  const { status, body: answer } = await client.call<unknown>(method, path, body)
  if (status >= 300)
    throw new Error(`${method} ${path} was answered ${status}: ${JSON.stringify(answer)}`.slice(0, 2_000))
}

async function provision({ organization, client, devices }: Party): Promise<void> {
  const entities = devices.map(device => provisioningOf(device, organization))
  const bulk = `/north/v80/provision/organizations/${organization}/bulk/entities?action=CREATE&flattened=true`
  await expectStatus(client, 'POST', bulk, { entities })
}

interface FleetProcess {
  readonly process: ChildProcess
  readonly listening: readonly { readonly url: string; readonly devices: readonly FleetDevice[] }[]
  readonly events: ToldEvent[]
  readonly lag: Lag
  lastEventAt(): number
  connect(): Promise<void>
  end(): Promise<FleetCounters[]>
}

async function startFleet(requests: readonly FleetRequest[]): Promise<FleetProcess> {
  const script = path.join(import.meta.dirname, 'fleet.ts')
  const child = spawn(process.execPath, ['--max-semi-space-size=16', script, JSON.stringify(requests)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.on('error', () => {})
  const events: ToldEvent[] = []
  const lag = collectLag()
  let lastEventAt = Date.now()
  let counters: FleetCounters[] = []
  const listening = Promise.withResolvers<FleetProcess['listening']>()
  const connected = Promise.withResolvers<void>()
  connected.promise.catch(() => {})
  createInterface({ input: child.stdout }).on('line', text => {
    const line = JSON.parse(text)
    if (line.events) {
      lastEventAt = Date.now()
      for (const event of line.events) events.push(event)
    } else if (line.late) lag.add(line.late)
    else if (line.listening) listening.resolve(line.listening)
    else if (line.connected) connected.resolve()
    else if (line.failed) connected.reject(new Error(line.failed))
    else if (line.counters) counters = line.counters
  })
  const ended = new Promise<void>(resolve => {
    child.once('close', () => {
      listening.reject(new Error('the fleet ended'))
      connected.reject(new Error('the fleet ended'))
      resolve()
    })
  })
  return {
    process: child,
    listening: await listening.promise,
    events,
    lag,
    lastEventAt: () => lastEventAt,
    connect() {
      child.stdin.write('go\n')
      return connected.promise
    },
    async end() {
      child.kill('SIGCONT')
      child.stdin.end()
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
      await ended
      clearTimeout(timer)
      return counters
    },
  }
}
