/**
 * What a device's coming and going does to its operations: a connect sends what waits for it, and sends again what a broken
 * connection may have swallowed. Presence is recorded first, then the waiting ones are looked for. Refuses to know brokers.
 */
import type { Database, Transaction } from '../store/database.ts'
import { type DeviceNumbers, type DeviceOperation, liveOperationsOf } from '../store/operation-devices.ts'
import { devicesThereAmong, type PresenceSign, recordPresence } from '../store/presence.ts'
import type { Clock } from './clock.ts'
import { wakeReached } from './device-reaching.ts'
import { gathered } from './gathering.ts'
import { openJobsAmong } from './job-launching.ts'
import type { Happening } from './operation-draft.ts'
import type { OperationMemory } from './operation-memory.ts'
import { applyHappenings } from './operation-transitions.ts'

export interface Presence {
  /**
   * The device has connected over MQTT; `connection` tells this connection from the next one. Where that is told late, `since` says when
   * it was made: it replaces none that was made later at another node.
   */
  connected(device: DeviceNumbers, connection: string, since?: Date): Promise<void>
  /** A connection has ended; one that was replaced meanwhile changes nothing. */
  disconnected(device: DeviceNumbers, connection: string): Promise<void>
  /**
   * The device has called through a broker that tells nobody who is connected: it counts as connected until it has been silent there
   * for a while. Of no node, so that nothing is kept of it here, and nobody forgets it when this node is gone.
   */
  called(device: DeviceNumbers): Promise<void>
  /** The device said something else through such a broker; written down as seldom. A device that called stays connected by it. */
  heard(device: DeviceNumbers): Promise<void>
  /** The device was heard of; written down once a minute at most, however much it says. */
  seen(device: DeviceNumbers): Promise<void>
  /**
   * Looks again at devices whose operations have just begun to wait, because they were away at an instant: one that connected
   * since, or was given an address meanwhile, is sent to at once what waits for it, and nothing again.
   */
  lookAgain(devices: readonly DeviceNumbers[], awayAt: Date): Promise<void>
  /** Records anew what is connected to this node, where others may have forgotten it. No connection broke: nothing is sent again. */
  recordAgain(): Promise<void>
  /** devices connected to this node */
  connectedHere(): number
}

/** The one connection of all devices behind a broker that tells nobody of theirs. */
const BROKER_CONNECTION = 'broker'

/** A device that speaks all the time is written down as seen once in so long. */
const SEEN_EVERY_MS = 60_000
/** Devices whose last sight is remembered; beyond them the one seen longest ago is written down again. */
const SEEN_MAX = 500_000

/** A connect is dated when it comes and seen when it is committed; the clocks of nodes differ a little. */
const CONNECT_MARGIN_MS = 1_000

const BY_KEY = { byKey: true }

export function createPresence(parts: {
  database: Database
  clock: Clock
  memory: Pick<OperationMemory, 'note'>
  node: number
  onCommit: () => void
}): Presence {
  const { database, clock, memory, node, onCommit } = parts

  const held = new Map<bigint, DeviceNumbers & { readonly connection: string; readonly since: Date }>()

  const record = gathered(async (signs: readonly Sign[]) => {
    const lastSigns = new Map<bigint, Sign>()
    for (const sign of signs) {
      const before = lastSigns.get(sign.entity)
      if (before === undefined || outweighs(sign, before)) lastSigns.set(sign.entity, sign)
    }
    await recordPresence(database, [...lastSigns.values()])
    await wakeOperations([...lastSigns.values()].filter(sign => sign.sign === 'connected'))
    return signs.map(() => undefined)
  })

  async function wakeOperations(devices: readonly (DeviceNumbers & Partial<Sign>)[]): Promise<void> {
    const connects = new Map(devices.map(device => [device.entity, device]))
    const operations = (await database.transaction(tx => liveOperationsOf(tx, devices), BY_KEY)).filter(each =>
      awaitsConnect(each, connects.get(each.device)?.stayed === true),
    )
    if (operations.length === 0) return
    const work = async (tx: Transaction) => {
      const open = await openJobsAmong(tx, operations, clock)
      const happenings = operations.flatMap((key): Happening[] => {
        if (key.status !== 'WAITING_FOR_CONNECTION') {
          const connectedAt = connects.get(key.device)?.at
          return [{ key, seen: 'reconnected', ...(connectedAt && { connectedAt }) }]
        }
        // Behind a closed gate it waits on; whatever opens the gate looks for the device.
        return open.has(key.job) ? [{ key, seen: 'connected' }] : []
      })
      return await applyHappenings(tx, happenings, clock.now())
    }
    const applied = await database.transaction(work, BY_KEY)
    memory.note(applied)
    if (applied.written.length > 0) onCommit()
  }

  const lookAgain = gathered(async (looks: readonly { devices: readonly DeviceNumbers[]; awayAt: Date }[]) => {
    const firstAwayAt = Math.min(...looks.map(({ awayAt }) => awayAt.getTime()))
    const devices = looks.flatMap(look => look.devices)
    const there = await devicesThereAmong(database, devices, new Date(firstAwayAt - CONNECT_MARGIN_MS))
    const connected = there.filter(({ overHttp }) => !overHttp)
    // What a connect does to what was sent before it, it does itself: this may be one that was there all the time, and is recorded again.
    if (connected.length > 0) await wakeOperations(connected.map(device => ({ ...device, stayed: true })))
    const reached = there.filter(({ overHttp }) => overHttp)
    if (reached.length > 0 && (await database.transaction(tx => wakeReached(tx, reached), BY_KEY))) onCommit()
    return looks.map(() => undefined)
  })

  const sign = (
    kind: PresenceSign['sign'],
    { partition, entity }: DeviceNumbers,
    connection: string | null,
    more: Partial<Pick<Sign, 'node' | 'overBroker' | 'stayed' | 'since'>> = {},
  ) => record({ partition, entity, sign: kind, connection, node, at: clock.now(), ...more })
  const seen = onceInAWhile(clock, device => sign('seen', device, null))
  const heard = onceInAWhile(clock, device => sign('seen', device, null, { overBroker: true }))

  return {
    connected(device, connection, told) {
      const before = held.get(device.entity)
      const since = told ?? (before?.connection === connection ? before.since : clock.now())
      held.set(device.entity, { ...device, connection, since })
      return sign('connected', device, connection, { since })
    },
    disconnected(device, connection) {
      if (held.get(device.entity)?.connection === connection) held.delete(device.entity)
      return sign('disconnected', device, connection)
    },
    called: device => sign('connected', device, BROKER_CONNECTION, { node: null }),
    heard,
    seen,
    lookAgain: (devices, awayAt) => lookAgain({ devices, awayAt }),
    connectedHere: () => held.size,
    async recordAgain() {
      const signs = [...held.values()].map(device =>
        sign('connected', device, device.connection, { since: device.since, stayed: true }),
      )
      await Promise.all(signs)
    },
  }
}

/** A sign as it is gathered. */
interface Sign extends PresenceSign {
  /** the connection was there all the time: what was sent over it is not lost */
  readonly stayed?: boolean
}

const NOTHING_TO_DO = Promise.resolve()

/** Does something for a device if that was not done for a while; what fails counts as not done. */
function onceInAWhile(clock: Pick<Clock, 'now'>, act: (device: DeviceNumbers) => Promise<void>) {
  const doneAt = new Map<bigint, number>()

  /** Whether it is time again; if so, it counts as done now. */
  function isTime(entity: bigint, now: number): boolean {
    const before = doneAt.get(entity)
    if (before !== undefined && now - before < SEEN_EVERY_MS) return false
    // The oldest stand first, since each is entered anew behind all others.
    doneAt.delete(entity)
    doneAt.set(entity, now)
    for (const [oldest, at] of doneAt) {
      if (now - at < SEEN_EVERY_MS && doneAt.size <= SEEN_MAX) break
      doneAt.delete(oldest)
    }
    return true
  }

  return (device: DeviceNumbers): Promise<void> => {
    if (!isTime(device.entity, clock.now().getTime())) return NOTHING_TO_DO
    return act(device).catch((error: unknown) => {
      doneAt.delete(device.entity)
      throw error
    })
  }
}

/**
 * Whether a connect of the device means anything to an operation; `stayed` where it was connected all the time. What is on its way to
 * the device at that moment may go with the connection before. A device that is to ask gets nothing by connecting.
 */
function awaitsConnect({ deviceFlow, status, flow }: DeviceOperation, stayed: boolean): boolean {
  if (deviceFlow === 'pull') return false
  if (status === 'WAITING_FOR_CONNECTION') return true
  if (stayed) return false
  return status === 'QUEUED' ? deviceFlow !== 'http' : status === 'WAITING_FOR_ACK' && flow === 'mqtt'
}

/** Whether a later sign of a device replaces an earlier one: a mere sight only another, nor does the end of a connection already replaced. */
function outweighs(later: PresenceSign, earlier: PresenceSign): boolean {
  if (later.sign === 'seen') return earlier.sign === 'seen' && later.overBroker === true
  return later.sign === 'connected' || earlier.sign !== 'connected' || earlier.connection === later.connection
}
