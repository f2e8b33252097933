/**
 * What a device collected, as the latest value of each id: read from datastreams and from the tree in which a device describes
 * itself. Refuses to know what is kept already. Serves: Authentication and device-side endpoints (collection).
 */
import { IDS } from './data-model.ts'
import { faultOfId, faultOfValue, ID_SEGMENTS_MAX, IDS_MAX } from './entity-limits.ts'
import type { Problem } from './problems.ts'
import { cutText } from './storable.ts'

/** A value and since when it is so, epoch ms. */
export interface CollectedValue {
  readonly value: unknown
  readonly at: number
}

/** The latest value of each id in one message. */
export type CollectedValues = ReadonlyMap<string, CollectedValue>

/** The same as it is kept with an entity. */
export type KeptValues = Readonly<Record<string, CollectedValue>>

/** Values of one datastream; `at` in epoch ms by the device's clock. */
export interface CollectedStream {
  readonly id: string
  readonly datapoints: readonly { readonly at?: number; readonly value: unknown }[]
}

/**
 * The latest value of each datastream; of one instant, the last. A value without an instant is of now, and so is one from the future: a
 * clock that is ahead must not keep later values out.
 */
export function latestOf(datastreams: readonly CollectedStream[], now: number): CollectedValues {
  const latest = new Map<string, CollectedValue>()
  for (const { id, datapoints } of datastreams)
    for (const point of datapoints) {
      const at = Math.min(point.at ?? now, now)
      const before = latest.get(id)
      if (before === undefined || before.at <= at) latest.set(id, { value: point.value, at })
    }
  return latest
}

/**
 * The leaves of the tree in which a device describes itself, each under `device.` and its path. A list of objects gives ids with
 * `[]`, each with the values of its elements.
 */
export function describedBy(device: Readonly<Record<string, unknown>>, now: number): CollectedValues {
  const values = new Map<string, CollectedValue>()
  const lists = new Map<string, unknown[]>()
  for (const [id, value, inList] of leavesOf('device', device, false)) {
    const list = lists.get(id)
    if (list !== undefined) list.push(value)
    else if (inList) {
      lists.set(id, [value])
      values.set(id, { value: lists.get(id), at: now })
    } else values.set(id, { value, at: now })
    if (values.size > IDS_MAX) break
  }
  return values
}

type Leaf = readonly [id: string, value: unknown, inList: boolean]

function* leavesOf(id: string, value: unknown, inList: boolean): Generator<Leaf> {
  const isBranch =
    typeof value === 'object' && value !== null && id.split('.').length < ID_SEGMENTS_MAX && !CELL_ID.test(id)
  if (!isBranch) yield [id, value, inList]
  else if (!Array.isArray(value))
    for (const [name, below] of Object.entries(value)) yield* leavesOf(`${id}.${name}`, below, inList)
  else if (!inList && value.length > 0 && value.every(each => typeof each === 'object' && each !== null))
    for (const each of value) yield* leavesOf(`${id}[]`, each, true)
  else yield [id, value, inList]
}

/** What keeps a message from being kept, by id; a device may not collect what is provisioned. */
export function faultsOf(values: CollectedValues): Problem[] {
  if (values.size > IDS_MAX) return [{ path: '', message: `has more than ${IDS_MAX} ids`, kind: 'invalid' }]
  return [...values].flatMap(([id, { value }]): Problem[] => {
    const isProvisioned = id === IDS.resourceType || id.startsWith('provision.')
    const message = isProvisioned ? 'is provisioned, not collected' : (faultOfId(id) ?? faultOfValue(value))
    return message === undefined ? [] : [{ path: cutText(id, 300), message, kind: 'invalid' }]
  })
}

/** Ids that a refusal for too many of them names. */
const NAMED_MAX = 20

/** What keeps a message from being kept beside the ids that are: the first of those that there is no room for. */
export function faultsBeside(values: CollectedValues, kept: ReadonlySet<string>): Problem[] {
  const fresh = [...values.keys()].filter(id => !kept.has(id))
  return fresh
    .slice(Math.max(0, IDS_MAX - kept.size))
    .slice(0, NAMED_MAX)
    .map(path => ({
      path,
      message: `has no room beside the ${IDS_MAX} ids that are kept of a device`,
      kind: 'invalid',
    }))
}

/** Characters of a cell's name. */
const CELL_LENGTH_MAX = 256
const CELL_ID = /^(.*\.)?subscription\.(collected\.)?cellInfo$|^cellInfo$/

/** A cell, and since when the subscription is in it, epoch ms. */
export interface CellInfo {
  readonly name: string
  readonly at: number
}

/** Where the message says last that the device's subscription is: what `subscription.collected.cellInfo` reads. */
export function cellInfoOf(values: CollectedValues): CellInfo | undefined {
  let latest: CellInfo | undefined
  for (const [id, { value, at }] of values) {
    const first: unknown = Array.isArray(value) ? value[0] : value
    if (!CELL_ID.test(id) || first === null || first === undefined || (latest && latest.at > at)) continue
    latest = { name: cutText(typeof first === 'string' ? first : JSON.stringify(first), CELL_LENGTH_MAX), at }
  }
  return latest
}
