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
  faultsOf,
  latestOf,
} from '../domain/collected.ts'
import { DroverError } from '../domain/errors.ts'
import { refusalOf } from '../domain/refusal.ts'
import { type CollectedRow, writeCollected } from '../store/collected.ts'
import type { Database } from '../store/database.ts'
import type { EntityKey } from '../store/entities.ts'
import type { Clock } from './clock.ts'
import type { Datastreams } from './datastreams.ts'
import { gathered } from './device-batch.ts'

/** The device that a message is from. */
export interface CollectingDevice extends EntityKey {
  readonly organization: number
}

export interface Collection {
  /**
   * Keeps the latest value of each datastream; resolves after the commit. Rejects with `invalidField` naming the ids at fault, all
   * or nothing of a message, and with `tooMany` where more messages wait than can be held.
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

  const keep = gathered(async (messages: readonly Message[]) => {
    await datastreams.remember(
      messages.flatMap(({ device, values }) =>
        [...values.keys()].map(id => ({ organization: device.organization, id })),
      ),
    )
    const rows = rowsOf(messages)
    await database.transaction(tx => writeCollected(tx, rows))
    return messages.map(() => undefined)
  })

  async function collect(device: CollectingDevice, values: CollectedValues): Promise<void> {
    const faults = faultsOf(values)
    if (faults.length > 0) throw refusalOf(faults)
    if (values.size === 0) return
    if (waiting >= WAITING_MAX) throw new DroverError('tooMany')
    waiting += 1
    try {
      await keep({ device, values })
    } finally {
      waiting -= 1
    }
  }

  return {
    iot: (device, message) => collect(device, latestOf(message.datastreams, clock.now().getTime())),
    dmm: (device, message) => collect(device, describedBy(message.device, clock.now().getTime())),
  }
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
