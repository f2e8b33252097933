/**
 * What the service and a device say to each other about an operation: the request, and the response that acknowledges, reports
 * steps or ends it. It reads liberally, writes strictly, keeps members it does not know, and decides nothing about a lifecycle.
 */
import { type Static, Type } from 'typebox'
import { shortened } from '../domain/storable.ts'
import { DeviceParameter, encodeParameters, type ParameterForm, readParameters } from './device-parameters.ts'
import {
  isObject,
  type JsonObject,
  parseDeviceJson,
  type Reading,
  read,
  readInstant,
  readShortText,
  readText,
  refuse,
} from './reading.ts'

/** Characters of an operation id or a step's name. */
export const DEVICE_NAME_LENGTH_MAX = 255

/** Steps that one message may name. */
export const DEVICE_STEPS_MAX = 1000

/** Characters that are read of a description or a title; what is longer is cut. */
export const DEVICE_TEXT_LENGTH_MAX = 4_000

/** Characters that are read of a step's `response`; of any other JSON than a text, what is longer becomes a text that is cut. */
export const STEP_RESPONSE_LENGTH_MAX = 16_000

/** The version that the service's own messages and the simulator's carry. */
const DEVICE_PROTOCOL_VERSION = '8.0'

const Timestamp = Type.Union([Type.Number(), Type.String()], {
  description: 'Epoch milliseconds, as a number or a text, or an ISO-8601 date',
})

/** A request to a device: the body of an HTTP push, an MQTT payload, the answer of pending. Serves: Device-side exchange flows. */
export const DeviceRequestMessage = Type.Object({
  operation: Type.Object({
    request: Type.Object({
      timestamp: Type.Number({ description: 'When it was sent, in epoch milliseconds' }),
      deviceId: Type.String(),
      entityId: Type.Optional(Type.String({ description: 'The entity, where it is not the device itself' })),
      name: Type.String({ description: 'The name of the operation type' }),
      parameters: Type.Union([Type.Array(DeviceParameter), Type.Record(Type.String(), Type.Unknown())]),
      id: Type.String({ description: 'The operation id; the same id again is the same operation, sent again' }),
    }),
  }),
})
export type DeviceRequestMessage = Static<typeof DeviceRequestMessage>

/** One step as a device reports it. */
export const DeviceStepMessage = Type.Object({
  name: Type.String({ minLength: 1, maxLength: DEVICE_NAME_LENGTH_MAX }),
  title: Type.Optional(Type.String()),
  timestamp: Type.Optional(Timestamp),
  result: Type.Optional(Type.String({ description: 'SUCCESSFUL, ERROR, SKIPPED or NOT_EXECUTED' })),
  description: Type.Optional(Type.String()),
  response: Type.Optional(Type.Unknown()),
})
export type DeviceStepMessage = Static<typeof DeviceStepMessage>

/** A response of a device; without `resultCode` it acknowledges or reports a part, with it, it ends the operation. */
export const DeviceResponseMessage = Type.Object({
  version: Type.Optional(Type.String()),
  operation: Type.Object({
    response: Type.Object({
      id: Type.String({ minLength: 1, maxLength: DEVICE_NAME_LENGTH_MAX, description: 'The operation id' }),
      deviceId: Type.Optional(Type.String()),
      timestamp: Type.Optional(Timestamp),
      name: Type.Optional(Type.String()),
      resultCode: Type.Optional(Type.String({ description: 'One of the operation results; absent in a part' })),
      resultDescription: Type.Optional(Type.String()),
      steps: Type.Optional(Type.Array(DeviceStepMessage, { maxItems: DEVICE_STEPS_MAX })),
      variableList: Type.Optional(Type.Unknown({ description: 'What was read, as a list of name and value' })),
    }),
  }),
})
export type DeviceResponseMessage = Static<typeof DeviceResponseMessage>

/** A request as a device understands it, its parameters in the plain form whichever way they came. */
export interface DeviceRequest {
  id: string
  name: string
  deviceId: string
  entityId?: string
  parameters: JsonObject
  /** When it was sent, in epoch milliseconds. */
  sentAt?: number
}

/** A step as it was read. The result is the device's own word; absent when it named none. */
export interface DeviceStep {
  name: string
  title?: string
  /** When it happened by the device's clock, in epoch milliseconds; absent when unreadable. */
  at?: number
  result?: string
  description?: string
  response?: unknown
}

/** A response as it was read. */
export interface DeviceResponse {
  operationId: string
  deviceId?: string
  name?: string
  /** When it was sent by the device's clock, in epoch milliseconds; absent when unreadable. */
  at?: number
  /** The device's own word, known or not; absent in an acknowledgement and in a part. */
  resultCode?: string
  resultDescription?: string
  /** In the order of the message; empty when it named none. */
  steps: DeviceStep[]
  variableList?: unknown
  /** The whole message as it came, with every member this page does not know. */
  message: JsonObject
}

/** Writes a request to a device. `sentAt` is in epoch milliseconds; `entityId` is left out where it is the device itself. */
export function writeDeviceRequest(request: {
  id: string
  name: string
  deviceId: string
  entityId?: string | undefined
  parameters: JsonObject
  form: ParameterForm
  sentAt: number
}): DeviceRequestMessage {
  const { id, name, deviceId, entityId, parameters, form, sentAt } = request
  return {
    operation: {
      request: {
        timestamp: sentAt,
        deviceId,
        ...(entityId === undefined || entityId === deviceId ? {} : { entityId }),
        name,
        parameters: form === 'typed' ? encodeParameters(parameters) : parameters,
        id,
      },
    },
  }
}

/** Reads a request as a device does. Fails, naming the field, on a message without id or name. */
export function readDeviceRequest(message: unknown): Reading<DeviceRequest> {
  const found = open(message, 'request')
  if (!found.ok) return found
  const request = found.inner
  const id = readName(request.id, 'operation.request.id')
  if (!id.ok) return id
  const name = readName(request.name, 'operation.request.name')
  if (!name.ok) return name
  const parameters = readParameters(request.parameters, 'operation.request.parameters')
  if (!parameters.ok) return parameters
  return read({
    id: id.value,
    name: name.value,
    deviceId: readText(request.deviceId) ?? '',
    parameters: parameters.value,
    ...present({ entityId: readText(request.entityId), sentAt: readInstant(request.timestamp) }),
  })
}

/** Writes a response of a device in the envelope. Members of `response` that are undefined vanish in JSON. */
export function writeDeviceResponse(response: DeviceResponseMessage['operation']['response']): DeviceResponseMessage {
  return { version: DEVICE_PROTOCOL_VERSION, operation: { response } }
}

/** Reads the body of a response: JSON, whatever its content type said. See `readDeviceResponse`. */
export function parseDeviceResponse(body: string | Uint8Array, operationId?: string): Reading<DeviceResponse> {
  const parsed = parseDeviceJson(body)
  return parsed.ok ? readDeviceResponse(parsed.value, operationId) : parsed
}

/**
 * Reads a response, liberally: version, name, timestamps and steps may be missing, a `resultCode` may be any word, null counts as
 * absent, and so do an empty `resultCode` and an unreadable timestamp. `operationId` is the operation whose exchange this is, where
 * the id may be left out. Texts are cut at their bounds, since every page that shows the operation holds them. Fails, naming the
 * field, when there is no `operation.response`, no operation id, or a step has no name.
 */
export function readDeviceResponse(message: unknown, operationId?: string): Reading<DeviceResponse> {
  const found = open(message, 'response')
  if (!found.ok) return found
  const response = found.inner
  const id = readName(response.id ?? operationId, 'operation.response.id')
  if (!id.ok) return id
  const steps = readSteps(response.steps ?? [])
  if (!steps.ok) return steps
  return read({
    operationId: id.value,
    steps: steps.value,
    message: found.message,
    ...present({
      deviceId: readText(response.deviceId),
      name: readText(response.name),
      at: readInstant(response.timestamp),
      resultCode: readWord(response.resultCode),
      resultDescription: readShortText(response.resultDescription, DEVICE_TEXT_LENGTH_MAX),
      variableList: response.variableList ?? undefined,
    }),
  })
}

function readSteps(list: unknown): Reading<DeviceStep[]> {
  const field = 'operation.response.steps'
  if (!Array.isArray(list)) return refuse(field, 'must be a list')
  if (list.length > DEVICE_STEPS_MAX) return refuse(field, `must not hold more than ${DEVICE_STEPS_MAX} steps`)
  const steps: DeviceStep[] = []
  for (const [index, step] of list.entries()) {
    if (!isObject(step)) return refuse(`${field}[${index}]`, 'must be an object')
    const name = readName(step.name, `${field}[${index}].name`)
    if (!name.ok) return name
    steps.push({
      name: name.value,
      ...present({
        title: readShortText(step.title, DEVICE_TEXT_LENGTH_MAX),
        at: readInstant(step.timestamp),
        result: readWord(step.result),
        description: readShortText(step.description, DEVICE_TEXT_LENGTH_MAX),
        response: readStepResponse(step.response ?? undefined),
      }),
    })
  }
  return read(steps)
}

/** A word of a device, known or not. */
function readWord(value: unknown): string | undefined {
  const word = readText(value)?.trim()
  return word ? shortened(word, DEVICE_NAME_LENGTH_MAX) : undefined
}

function readStepResponse(value: unknown): unknown {
  const text = readText(value)
  return text === undefined || text.length <= STEP_RESPONSE_LENGTH_MAX
    ? value
    : shortened(text, STEP_RESPONSE_LENGTH_MAX)
}

type Opened = { ok: true; message: JsonObject; inner: JsonObject } | { ok: false; field: string; reason: string }

function open(message: unknown, member: 'request' | 'response'): Opened {
  if (!isObject(message)) return refuse('', 'must be an object')
  const { operation } = message
  if (!isObject(operation)) return refuse('operation', 'must be an object')
  const inner = operation[member]
  return isObject(inner) ? { ok: true, message, inner } : refuse(`operation.${member}`, 'must be an object')
}

function readName(value: unknown, field: string): Reading<string> {
  if (typeof value !== 'string' || value.trim() === '') return refuse(field, 'must be a text that is not empty')
  if (value.length > DEVICE_NAME_LENGTH_MAX) return refuse(field, `must not be longer than ${DEVICE_NAME_LENGTH_MAX}`)
  return read(value)
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The members that are there. Made anew: an object that members are deleted from is slow wherever it goes. */
function present<T extends object>(members: T): Present<T> {
  const there: Present<T> = {}
  for (const name of Object.keys(members) as (keyof T)[]) {
    const value = members[name]
    if (value !== undefined) there[name] = value as Exclude<T[typeof name], undefined>
  }
  return there
}
