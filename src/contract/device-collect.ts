/**
 * The data that devices send of their own accord: `collect/iot` with datastreams and datapoints, `collect/dmm` with one event about
 * the device. It reads them; where the latest values are kept is not its business.
 */
import { type Static, Type } from 'typebox'
import { isObject, type JsonObject, type Reading, read, readInstant, readText, refuse } from './reading.ts'

const Timestamp = Type.Union([Type.Number(), Type.String()])

/** The body of `collect/iot`. Serves: Authentication and device-side endpoints. */
export const CollectIotMessage = Type.Object({
  version: Type.Optional(Type.String()),
  device: Type.Optional(Type.String()),
  datastreams: Type.Array(
    Type.Object({
      id: Type.String({ minLength: 1 }),
      feed: Type.Optional(Type.String()),
      datapoints: Type.Array(
        Type.Object({
          at: Type.Optional(Timestamp),
          value: Type.Unknown(),
          tags: Type.Optional(Type.Array(Type.String())),
        }),
      ),
    }),
  ),
})
export type CollectIotMessage = Static<typeof CollectIotMessage>

/** The body of `collect/dmm`. Serves: Authentication and device-side endpoints. */
export const CollectDmmMessage = Type.Object({
  version: Type.Optional(Type.String()),
  event: Type.Object({
    id: Type.Optional(Type.String()),
    device: Type.Record(Type.String(), Type.Unknown()),
  }),
})
export type CollectDmmMessage = Static<typeof CollectDmmMessage>

/** One collected value. `at` is in epoch milliseconds by the device's clock; absent when missing or unreadable. */
export interface Datapoint {
  at?: number
  value: unknown
  tags?: string[]
}

/** The values of one datastream, in the order of the message. */
export interface Datastream {
  id: string
  feed?: string
  datapoints: Datapoint[]
}

/** A `collect/iot` as it was read. */
export interface CollectIot {
  device?: string
  datastreams: Datastream[]
}

/** A `collect/dmm` as it was read; `device` is the tree that the device described itself with. */
export interface CollectDmm {
  eventId?: string
  device: JsonObject
}

/** Reads a `collect/iot`. Fails, naming the field, on a datastream without id or datapoints and on a datapoint without value. */
export function readCollectIot(message: unknown): Reading<CollectIot> {
  if (!isObject(message)) return refuse('', 'must be an object')
  const list = message.datastreams
  if (!Array.isArray(list)) return refuse('datastreams', 'must be a list')
  const datastreams: Datastream[] = []
  for (const [index, entry] of list.entries()) {
    const datastream = readDatastream(entry, `datastreams[${index}]`)
    if (!datastream.ok) return datastream
    datastreams.push(datastream.value)
  }
  const device = readText(message.device)
  return read(device === undefined ? { datastreams } : { device, datastreams })
}

/** Reads a `collect/dmm`. Fails, naming the field, when there is no `event.device` object. */
export function readCollectDmm(message: unknown): Reading<CollectDmm> {
  if (!isObject(message)) return refuse('', 'must be an object')
  const event = message.event
  if (!isObject(event)) return refuse('event', 'must be an object')
  const device = event.device
  if (!isObject(device)) return refuse('event.device', 'must be an object')
  const eventId = readText(event.id)
  return read(eventId === undefined ? { device } : { eventId, device })
}

function readDatastream(entry: unknown, field: string): Reading<Datastream> {
  if (!isObject(entry)) return refuse(field, 'must be an object')
  const { id, datapoints: list } = entry
  if (typeof id !== 'string' || id === '') return refuse(`${field}.id`, 'must be a text that is not empty')
  if (!Array.isArray(list)) return refuse(`${field}.datapoints`, 'must be a list')
  const datapoints: Datapoint[] = []
  for (const [index, point] of list.entries()) {
    const at = `${field}.datapoints[${index}]`
    if (!isObject(point)) return refuse(at, 'must be an object')
    if (point.value === undefined) return refuse(`${at}.value`, 'must be there')
    datapoints.push(readDatapoint(point))
  }
  const feed = readText(entry.feed)
  return read(feed === undefined ? { id, datapoints } : { id, feed, datapoints })
}

function readDatapoint(point: JsonObject): Datapoint {
  const at = readInstant(point.at)
  const tags = Array.isArray(point.tags) ? point.tags.filter(tag => typeof tag === 'string') : undefined
  return {
    value: point.value,
    ...(at === undefined ? {} : { at }),
    ...(tags === undefined ? {} : { tags }),
  }
}
