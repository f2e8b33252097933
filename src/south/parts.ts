/**
 * What the south door needs of the rest of the house, named by what it asks of each part. It holds no part itself.
 */
import type { Logger } from 'pino'
import type { CollectDmm, CollectIot } from '../contract/device-collect.ts'
import type { DeviceMessage, OperationRequest } from '../engine/connector.ts'
import type { OwnMessage } from '../engine/connector-functions.ts'

/** A device whose credentials were accepted. */
export interface SouthDevice {
  readonly organization: number
  readonly deviceId: string
  readonly partition: number
  readonly entity: bigint
}

/** What the door turns away, by the name under which it is counted. */
export const SOUTH_REFUSALS = [
  'unauthorized',
  'unknown-operation',
  'unreadable-message',
  'foreign-topic',
  'too-many-polls',
  'too-many-messages',
  'too-many-connections',
  'broken-packet',
] as const
export type SouthRefusal = (typeof SOUTH_REFUSALS)[number]

/** The parts of the house behind the door. */
export interface SouthParts {
  /** bytes of a message, whichever way it comes */
  readonly bodyBytesMax: number
  readonly access: {
    /** the device, where the key is its own or that of a user who manages devices of its organization */
    authenticate(deviceId: string, key: string): Promise<SouthDevice | undefined>
    /** the device, where the token is that of a user who manages devices of its organization */
    byToken(deviceId: string, token: string): Promise<SouthDevice | undefined>
  }
  readonly answers: {
    /** resolves after the commit; rejects with a DroverError where the message is at fault */
    submit(message: DeviceMessage): Promise<'taken' | 'unknown'>
  }
  readonly pending: {
    take(device: SouthDevice, waitMs: number, signal: AbortSignal): Promise<OperationRequest | undefined>
  }
  readonly presence: {
    /** `since`: when the connection was made, where that is told late */
    connected(device: SouthDevice, connection: string, since?: Date): Promise<void>
    disconnected(device: SouthDevice, connection: string): Promise<void>
    /** through a broker that tells nobody who is connected */
    called(device: SouthDevice): Promise<void>
    /** through such a broker, with anything else */
    heard(device: SouthDevice): Promise<void>
    seen(device: SouthDevice): Promise<void>
  }
  readonly collection: {
    /** both resolve after the commit */
    iot(device: SouthDevice, message: CollectIot): Promise<void>
    dmm(device: SouthDevice, message: CollectDmm): Promise<void>
  }
  /** reads messages of a device's own format by the functions of its organization */
  readonly functions: {
    /** what the function gave; undefined where no function reads it. Rejects with a DroverError where it fails on the message */
    respond(device: SouthDevice, message: OwnMessage): Promise<unknown>
  }
  readonly count: (refusal: SouthRefusal) => void
  readonly now: () => Date
  readonly log: Logger
}
