/**
 * What a fleet has been asked and has done, counted: the proof that no operation was done twice, or lost. It decides nothing.
 */
import type { Outcome, Variables } from './operations.ts'
import type { FleetOptions } from './options.ts'

/** Counts since the fleet was opened. */
export interface FleetCounters {
  /** Devices connected over MQTT at this moment, and how often one came back. */
  connected: number
  reconnects: number
  /** Questions of pull devices, and those that were answered with nothing to do. */
  pulls: number
  pullsEmpty: number
  /** Requests that reached a device, repeats included; repeats alone; and messages that were no request. */
  received: number
  repeated: number
  unreadable: number
  /** Operations done; and those whose id came to two devices, which no service may let happen. */
  executed: number
  doubled: number
  /** What the seed decided about them. */
  failed: number
  late: number
  silent: number
  duplicated: number
  /** Messages that the service took: acknowledgements, parts, final responses. */
  acknowledgements: number
  parts: number
  finals: number
  /** Messages that the service refused for good, and those given up because it stayed away. */
  refused: number
  undelivered: number
}

/** One operation as its device remembers it. */
export interface RememberedOperation {
  id: string
  deviceId: string
  name: string
  /** How often its request came, heard or not; and how often it was done. */
  receipts: number
  executions: number
  /** What it came to; absent until it is done. */
  outcome?: Outcome
  /** The launch that it was last done for, and whether it failed then: only a later launch is a new attempt, and no repeat. */
  launchedAt: number
  failed: boolean
  /** Whether it keeps what it has to say to itself; a repeat that is heard makes it speak. */
  mute: boolean
  /** Settles when all of it is said; absent before and after. */
  running?: Promise<void>
}

/** The memory of a fleet. */
export interface Ledger {
  readonly counters: FleetCounters
  /** The operation of this id, if it is remembered. */
  find(operationId: string): RememberedOperation | undefined
  remember(operation: RememberedOperation): void
  /** The variables of a device, kept from operation to operation. */
  variablesOf(deviceId: string): Variables
}

/** Begins with nothing counted; of more than `remember` operations it forgets the oldest. */
export function createLedger({ remember }: Pick<FleetOptions, 'remember'>): Ledger {
  const operations = new Map<string, RememberedOperation>()
  const variables = new Map<string, Variables>()
  return {
    counters: {
      connected: 0,
      reconnects: 0,
      pulls: 0,
      pullsEmpty: 0,
      received: 0,
      repeated: 0,
      unreadable: 0,
      executed: 0,
      doubled: 0,
      failed: 0,
      late: 0,
      silent: 0,
      duplicated: 0,
      acknowledgements: 0,
      parts: 0,
      finals: 0,
      refused: 0,
      undelivered: 0,
    },
    find: operationId => operations.get(operationId),
    remember(operation) {
      operations.set(operation.id, operation)
      if (operations.size <= remember) return
      const [oldest] = operations.keys()
      if (oldest !== undefined) operations.delete(oldest)
    },
    variablesOf(deviceId) {
      const known = variables.get(deviceId)
      if (known !== undefined) return known
      const fresh: Variables = new Map()
      variables.set(deviceId, fresh)
      return fresh
    },
  }
}
