/**
 * What devices say over MQTT, whichever broker it came through: each message reaches the part it concerns, and is done with after the
 * commit. It knows topics and payloads; connections and acknowledgements belong to the broker.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseDeviceResponse } from '../contract/device.ts'
import type { DeviceTopicKind } from '../contract/device-addresses.ts'
import { readCollectDmm, readCollectIot } from '../contract/device-collect.ts'
import { reportIn } from '../contract/device-exchange.ts'
import { parseDeviceJson, type Reading, refuse, utf8Text } from '../contract/reading.ts'
import { DroverError, type ErrorKind } from '../domain/errors.ts'
import { takeOwnMessage } from './own-messages.ts'
import type { SouthDevice, SouthParts } from './parts.ts'

/** What a device may publish. */
export type MqttMessageKind = Exclude<DeviceTopicKind, 'request'>

/** A message as it came. */
export interface MqttMessage {
  readonly kind: MqttMessageKind
  /** by the id in the topic */
  readonly deviceId: string
  /** the device that the broker let speak on this topic; undefined where it is none of ours */
  readonly device: () => Promise<SouthDevice | undefined>
  /**
   * The connection that it came over, unlike any other's, and whether requests reach the device over it; absent where the broker tells
   * nobody who is connected.
   */
  readonly connection?: { readonly name: string; readonly reachable: boolean }
  readonly payload: Uint8Array
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
/** Refusals that lie with the moment and not with the message. */
const PASSING: readonly ErrorKind[] = ['tooMany', 'stopping']

/**
 * Makes the taker of messages. It resolves once a message is committed, or dropped and counted since it could never be taken. What fails
 * for a passing reason is tried again, with growing pauses, until the signal aborts; then it rejects, and the message must not be
 * acknowledged. Serves: Device-side exchange flows.
 */
export function mqttMessageTaker(parts: SouthParts): (message: MqttMessage, signal: AbortSignal) => Promise<void> {
  const { answers, presence, collection, bodyBytesMax, count, log } = parts

  async function take({ kind, device: find, connection, payload }: MqttMessage): Promise<void> {
    const device = await find()
    if (device === undefined) count('unauthorized')
    else if (kind === 'operationOnDemand') {
      if (connection === undefined) await presence.called(device)
      else if (connection.reachable) await presence.connected(device, connection.name)
      else await presence.seen(device)
    } else {
      await takeMessage(kind, device, payload)
      // That the device was heard of is worth no repeat of what it said.
      const noted = connection === undefined ? presence.heard(device) : presence.seen(device)
      noted.catch((error: unknown) => log.debug({ err: error }, 'presence was not recorded'))
    }
  }

  async function takeMessage(
    kind: Exclude<MqttMessageKind, 'operationOnDemand'>,
    device: SouthDevice,
    payload: Uint8Array,
  ): Promise<void> {
    if (payload.length > bodyBytesMax) {
      readable(refuse('', `longer than ${bodyBytesMax} bytes`), device, kind)
    } else if (kind === 'response') {
      await takeResponse(device, payload)
    } else if (kind === 'iot') {
      const message = readable(readJson(payload, readCollectIot), device, kind)
      if (message !== undefined) await collection.iot(device, message)
    } else {
      const message = readable(readJson(payload, readCollectDmm), device, kind)
      if (message !== undefined) await collection.dmm(device, message)
    }
  }

  /** A response as it stands in the contract, else as a function of the organization reads it. */
  async function takeResponse(device: SouthDevice, payload: Uint8Array): Promise<void> {
    const text = utf8Text(payload)
    const reading = parseDeviceResponse(text)
    if (reading.ok) {
      const { organization, deviceId, partition, entity } = device
      const report = reportIn(reading.value, text)
      const answer = await answers.submit({ ...report, organization, deviceId, partition, entity })
      if (answer === 'unknown') count('unknown-operation')
    } else if ((await takeOwnMessage(parts, device, { via: 'mqtt', bytes: payload })) === 'unread') {
      readable(reading, device, 'response')
    }
  }

  function readable<T>(reading: Reading<T>, device: SouthDevice, kind: MqttMessageKind): T | undefined {
    if (reading.ok) return reading.value
    count('unreadable-message')
    log.debug({ device: device.deviceId, kind, field: reading.field, reason: reading.reason }, 'a message was dropped')
    return undefined
  }

  return async (message, signal) => {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      signal.throwIfAborted()
      try {
        return await take(message)
      } catch (error) {
        if (error instanceof DroverError && !PASSING.includes(error.entry.kind)) {
          count('unreadable-message')
          log.debug({ err: error, device: message.deviceId }, 'a message was refused and dropped')
          return
        }
        log.warn({ err: error, device: message.deviceId }, 'a message could not be taken and is tried again')
        await pause(pauseMs, undefined, { signal })
      }
    }
  }
}

function readJson<T>(payload: Uint8Array, reader: (message: unknown) => Reading<T>): Reading<T> {
  const parsed = parseDeviceJson(payload)
  return parsed.ok ? reader(parsed.value) : parsed
}
