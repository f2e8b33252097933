/**
 * The step between what the engine says of an operation and what travels to and from its device, the same over HTTP, MQTT and
 * pull. It renames and bounds; what a message means is not its business.
 */
import { KEPT_MESSAGE_CHARACTERS_MAX } from '../domain/kept-message.ts'
import type { ReportedStep } from '../domain/step.ts'
import { cutText } from '../domain/storable.ts'
import { type DeviceRequestMessage, type DeviceResponse, writeDeviceRequest } from './device.ts'
import type { ParameterForm } from './device-parameters.ts'
import type { JsonObject } from './reading.ts'

/** What is asked of a device, as the engine knows it. `launchedAt` is in epoch milliseconds. */
interface AskedOperation {
  readonly id: string
  readonly name: string
  readonly entityId?: string
  readonly parameters: JsonObject
  readonly launchedAt: number
  readonly device: { readonly deviceId: string; readonly parametersAs: ParameterForm }
}

/** What a device reports of an operation, as the engine takes it; `timestamp` in epoch milliseconds. */
interface DeviceReport {
  readonly operationId: string
  readonly resultCode?: string
  readonly resultDescription?: string
  readonly steps: readonly ReportedStep[]
  readonly timestamp?: number
  readonly raw: string
  readonly saysMore?: true
}

/** The request that travels for an operation: the same message on every repeat. Serves: Device-side exchange flows. */
export function requestMessage(operation: AskedOperation): DeviceRequestMessage {
  const { id, name, entityId, parameters, launchedAt, device } = operation
  const { deviceId, parametersAs } = device
  return writeDeviceRequest({ id, name, deviceId, entityId, parameters, form: parametersAs, sentAt: launchedAt })
}

/** The report in a response. `raw` is the message as it came; `saysMore` of an acknowledgement that is worth keeping so. */
export function reportIn(response: DeviceResponse, raw: string): DeviceReport {
  const { operationId, resultCode, resultDescription, at, steps } = response
  return {
    operationId,
    steps: steps.map(({ at: stepAt, ...step }) => (stepAt === undefined ? step : { ...step, timestamp: stepAt })),
    raw: cutText(raw, KEPT_MESSAGE_CHARACTERS_MAX),
    ...(resultCode !== undefined && { resultCode }),
    ...(resultDescription !== undefined && { resultDescription }),
    ...(at !== undefined && { timestamp: at }),
    ...(resultCode === undefined && steps.length === 0 && saysMore(response.message) && { saysMore: true }),
  }
}

/** What a message holds that only acknowledges; a result and steps that it names empty, it does not name. */
const ENVELOPE: ReadonlySet<string> = new Set(['version', 'operation'])
const WITHIN: ReadonlySet<string> = new Set(['response'])
const BARE: ReadonlySet<string> = new Set(['id', 'deviceId', 'name', 'timestamp', 'version', 'resultCode', 'steps'])

function saysMore(message: JsonObject): boolean {
  const operation = message.operation as JsonObject
  return (
    holdsMore(message, ENVELOPE) || holdsMore(operation, WITHIN) || holdsMore(operation.response as JsonObject, BARE)
  )
}

/** null counts as absent, and a text without a character says nothing. */
function holdsMore(members: JsonObject, known: ReadonlySet<string>): boolean {
  for (const name in members) {
    if (!known.has(name) && members[name] !== null && members[name] !== '') return true
  }
  return false
}
