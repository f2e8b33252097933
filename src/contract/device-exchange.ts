/**
 * The step between what the engine says of an operation and what travels to and from its device, the same over HTTP, MQTT and
 * pull. It renames and bounds; what a message means is not its business.
 */
import type { ReportedStep } from '../domain/step.ts'
import { type DeviceRequestMessage, type DeviceResponse, writeDeviceRequest } from './device.ts'
import type { ParameterForm } from './device-parameters.ts'
import type { JsonObject } from './reading.ts'

/** Characters of a message that are kept as it came. */
const RAW_MESSAGE_LENGTH_MAX = 16_384

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
}

/** The request that travels for an operation: the same message on every repeat. Serves: Device-side exchange flows. */
export function requestMessage(operation: AskedOperation): DeviceRequestMessage {
  const { id, name, entityId, parameters, launchedAt, device } = operation
  const { deviceId, parametersAs } = device
  return writeDeviceRequest({ id, name, deviceId, entityId, parameters, form: parametersAs, sentAt: launchedAt })
}

/** The report in a response. `raw` is the message as it came. */
export function reportIn(response: DeviceResponse, raw: string): DeviceReport {
  const { operationId, resultCode, resultDescription, at, steps } = response
  return {
    operationId,
    steps: steps.map(({ at: stepAt, ...step }) => (stepAt === undefined ? step : { ...step, timestamp: stepAt })),
    raw: raw.slice(0, RAW_MESSAGE_LENGTH_MAX),
    ...(resultCode !== undefined && { resultCode }),
    ...(resultDescription !== undefined && { resultDescription }),
    ...(at !== undefined && { timestamp: at }),
  }
}
