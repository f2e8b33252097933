/**
 * Who is woken when something was moved: the loops and held calls of this node at once, those of the others by a notification, for which
 * what happens within a moment is gathered. A wake that gets lost is caught up with by polls. Refuses to move anything.
 */
import type { Logger } from 'pino'
import type { Database } from '../store/database.ts'
import { notifyNodes, WAKE_CHANNEL } from '../store/nodes.ts'
import type { DeviceNumbers } from '../store/operation-devices.ts'
import type { Loop } from './loop.ts'
import type { Pending } from './pending.ts'

export interface WakesParts {
  readonly database: Database
  readonly log: Logger
  readonly node: number
  /** by name, as they are when something is moved */
  readonly loops: ReadonlyMap<string, Loop>
  /** the calls that devices hold; they wake others themselves */
  readonly calls: () => Pick<Pending, 'wake' | 'wakeAll' | 'gateOpened'>
}

export interface Wakes {
  /** Wakes whatever may have work after jobs were made or moved. */
  jobsMoved(): void
  /** Wakes the calls that are held here and on other nodes; it is followed by `jobsMoved`. */
  gatesOpened(): void
  /** As `jobsMoved` after operations alone were moved: that is no work for those who look after jobs, and it happens all the time. */
  operationsMoved(): void
  /** Wakes the calls of devices for which something waits now; it is followed by `operationsMoved`. */
  devicesWaitedFor(devices: readonly DeviceNumbers[]): void
  /** Hears other nodes from now on. */
  listen(): Promise<void>
  /** Hears and tells no more. */
  stop(): Promise<void>
}

/** Wakes of other nodes are gathered for this long. */
const ANNOUNCE_MS = 50
/** What a notification says was moved, and the loops that this is work for. */
const JOBS = 'jobs'
const OPERATIONS = 'operations'
/** Jobs were moved, and gates of theirs have opened. */
const GATES = 'gates'
const OF_JOBS = ['job-keeper', 'target-resolver', 'operation-canceller', 'task-keeper']
const OF_OPERATIONS = ['operation-dispatcher', 'counter-folder', 'deadline-keeper']
/** What fits into one notification. */
const DEVICES_PER_WAKE = 400

export function createWakes({ database, log, node, loops, calls }: WakesParts): Wakes {
  let announcing: NodeJS.Timeout | null = null
  let moved = OPERATIONS
  let waitingDevices: bigint[] = []
  const listening: (() => Promise<void>)[] = []

  const wakeLoops = (names: readonly string[]) => {
    for (const name of names) loops.get(name)?.wake()
  }

  function operationsMoved(): void {
    wakeLoops(OF_OPERATIONS)
    // A notification in every transaction would cost more than the work it announces.
    announcing ??= setTimeout(announce, ANNOUNCE_MS)
  }

  function announce(): void {
    announcing = null
    const from = `${node} ${moved}`
    const devices = waitingDevices.map(device => device.toString(16))
    moved = OPERATIONS
    waitingDevices = []
    const payloads = [[from, ...devices.slice(0, DEVICES_PER_WAKE)]]
    for (let i = DEVICES_PER_WAKE; i < devices.length; i += DEVICES_PER_WAKE) {
      payloads.push([from, ...devices.slice(i, i + DEVICES_PER_WAKE)])
    }
    notifyNodes(
      database,
      payloads.map(payload => payload.join(' ')),
    ).catch((error: unknown) => {
      log.debug({ err: error }, 'other nodes were not woken; they poll')
    })
  }

  function hear(payload: string | null): void {
    // After a lost connection to the database anything may have been missed.
    if (payload === null) {
      for (const loop of loops.values()) loop.wake()
      calls().wakeAll()
      return
    }
    const [from, what, ...devices] = payload.split(' ')
    if (from === String(node)) return
    if (what !== OPERATIONS) wakeLoops(OF_JOBS)
    if (what === GATES) calls().gateOpened()
    wakeLoops(OF_OPERATIONS)
    calls().wake(devices.map(device => ({ entity: BigInt(`0x${device}`) })))
  }

  return {
    jobsMoved() {
      if (moved === OPERATIONS) moved = JOBS
      wakeLoops(OF_JOBS)
      operationsMoved()
    },
    gatesOpened() {
      moved = GATES
      calls().gateOpened()
    },
    operationsMoved,
    devicesWaitedFor(devices) {
      calls().wake(devices)
      waitingDevices.push(...devices.map(device => device.entity))
    },
    async listen() {
      listening.push(await database.listen(WAKE_CHANNEL, hear))
    },
    async stop() {
      for (const end of listening) await end()
      if (announcing) clearTimeout(announcing)
    },
  }
}
