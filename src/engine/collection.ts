/**
 * Takes what devices collect: gathers messages for a few milliseconds and keeps the latest value of each id, one update per batch.
 * Refuses to know doors and protocols. Serves: Authentication and device-side endpoints (collection).
 */
import {
  type CollectedStream,
  type CollectedValue,
  type CollectedValues,
  cellInfoOf,
  describedBy,
  faultsBeside,
  faultsOf,
  latestOf,
} from '../domain/collected.ts'
import { DroverError } from '../domain/errors.ts'
import { refusalOf } from '../domain/refusal.ts'
import { type CollectedRow, readCollectedIds, writeCollected } from '../store/collected.ts'
import type { Database, Transaction } from '../store/database.ts'
import type { EntityKey } from '../store/entities.ts'
import type { Clock } from './clock.ts'
import type { Datastreams } from './datastreams.ts'
import { gathered } from './gathering.ts'

/** The device that a message is from. */
export interface CollectingDevice extends EntityKey {
  readonly organization: number
}

export interface Collection {
  /**
   * Keeps the latest value of each datastream; resolves after the commit. Rejects with `invalidField` naming the ids at fault or
   * those of which the device keeps too many, all or nothing of a message, and with `tooMany` where more messages wait than can be held.
   */
  iot(device: CollectingDevice, message: { readonly datastreams: readonly CollectedStream[] }): Promise<void>
  /** The same for the tree in which a device describes itself. */
  dmm(device: CollectingDevice, message: { readonly device: Readonly<Record<string, unknown>> }): Promise<void>
}

interface Message {
  readonly device: CollectingDevice
  readonly values: CollectedValues
}

/** Messages that may wait for their batch. */
const WAITING_MAX = 20_000

export function createCollection(parts: {
  readonly database: Database
  readonly clock: Clock
  readonly datastreams: Datastreams
}): Collection {
  const { database, clock, datastreams } = parts
  let waiting = 0

  const keep = gathered(async (messages: readonly Message[]): Promise<(DroverError | undefined)[]> => {
    const refused = await database.transaction(tx => keepWhatFits(tx, messages))
    const kept = messages.filter(message => !refused.has(message))
    await datastreams.remember(
      kept.flatMap(({ device, values }) => [...values.keys()].map(id => ({ organization: device.organization, id }))),
    )
    return messages.map(message => refused.get(message))
  })

  async function collect(device: CollectingDevice, values: CollectedValues): Promise<void> {
    const faults = faultsOf(values)
    if (faults.length > 0) throw refusalOf(faults)
    if (values.size === 0) return
    if (waiting >= WAITING_MAX) throw new DroverError('tooMany')
    waiting += 1
    try {
      const refused = await keep({ device, values })
      if (refused !== undefined) throw refused
    } finally {
      waiting -= 1
    }
  }

  return {
    iot: (device, message) => collect(device, latestOf(message.datastreams, clock.now().getTime())),
    dmm: (device, message) => collect(device, describedBy(message.device, clock.now().getTime())),
  }
}

/** Keeps messages, each whole or not at all; answers the refusals of those for whose ids there is no room. */
async function keepWhatFits(tx: Transaction, messages: readonly Message[]): Promise<Map<Message, DroverError>> {
  const refused = new Map<Message, DroverError>()
  const full = await writeCollected(tx, rowsOf(messages))
  if (full.size === 0) return refused
  // Rare enough to be judged here: together they are too many, but one after the other some may fit.
  const unkept = messages.filter(({ device }) => full.has(device.entity))
  const idsOf = await readCollectedIds(
    tx,
    unkept.map(({ device }) => device),
  )
  for (const message of unkept) {
    const ids = idsOf.get(message.device.entity)!
    const faults = faultsBeside(message.values, ids)
    if (faults.length > 0) refused.set(message, refusalOf(faults))
    else for (const id of message.values.keys()) ids.add(id)
  }
  const fitting = unkept.filter(message => !refused.has(message))
  if (fitting.length > 0) await writeCollected(tx, rowsOf(fitting))
  return refused
}

/** One row per device: two messages of one device in one update would lose one of them. */
function rowsOf(messages: readonly Message[]): CollectedRow[] {
  const devices = new Map<bigint, { readonly device: CollectingDevice; readonly values: Map<string, CollectedValue> }>()
  for (const { device, values } of messages) {
    const row = devices.get(device.entity) ?? { device, values: new Map<string, CollectedValue>() }
    devices.set(device.entity, row)
    for (const [id, value] of values) {
      const before = row.values.get(id)
      if (before === undefined || before.at <= value.at) row.values.set(id, value)
    }
  }
  return [...devices.values()].map(({ device: { partition, entity }, values }) => ({
    partition,
    entity,
    values,
    cell: cellInfoOf(values),
  }))
}
