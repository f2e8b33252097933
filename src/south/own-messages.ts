/**
 * Messages of devices in a format of their own: a function of their organization says which responses they are, and these are taken as
 * any other. It knows neither the function nor the way that the message came.
 */
import { reportIn } from '../contract/device-exchange.ts'
import { readFunctionResponses } from '../contract/function-answer.ts'
import { parseDeviceJson } from '../contract/reading.ts'
import { invalidField } from '../domain/refusal.ts'
import type { SouthDevice, SouthParts } from './parts.ts'

/** A message as it came: over HTTP with its route, or over MQTT. */
export interface UnreadMessage {
  readonly via: 'http' | 'mqtt'
  readonly route?: string
  readonly contentType?: string
  readonly bytes: Uint8Array
}

/**
 * Takes a message. Resolves after the commit of all its responses: `taken`, `unknown` where none of them was about an operation of the
 * device, `unread` where no function reads it. Rejects with a DroverError where the function fails on it or gives no responses.
 */
export async function takeOwnMessage(
  { functions, answers, count }: Pick<SouthParts, 'functions' | 'answers' | 'count'>,
  device: SouthDevice,
  { bytes, ...how }: UnreadMessage,
): Promise<'taken' | 'unknown' | 'unread'> {
  const body = new TextDecoder().decode(bytes)
  const parsed = parseDeviceJson(body)
  const value = await functions.respond(device, { ...how, body, ...(parsed.ok && { json: parsed.value }) })
  if (value === undefined) return 'unread'
  const responses = readFunctionResponses(value)
  if (!responses.ok) {
    throw invalidField(
      'body',
      `is made no responses of by its connector function: ${responses.field} ${responses.reason}`.trim(),
    )
  }
  const { organization, deviceId, partition, entity } = device
  // All at once: responses of one device keep their order, and are written in one batch.
  const taken = await Promise.all(
    responses.value.map(response =>
      answers.submit({ ...reportIn(response, body), organization, deviceId, partition, entity }),
    ),
  )
  for (const answer of taken) if (answer === 'unknown') count('unknown-operation')
  return taken.length > 0 && taken.every(answer => answer === 'unknown') ? 'unknown' : 'taken'
}
