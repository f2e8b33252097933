/** The parts of the house behind the south door, as tests stand them in: they note what they are told and answer as told. */
import type { DeviceMessage, OperationRequest } from '../../src/engine/connector.ts'
import type { OwnMessage } from '../../src/engine/connector-functions.ts'
import type { SouthDevice, SouthParts } from '../../src/south/parts.ts'
import { silentLog } from '../database.ts'

/** A list that can be waited on. */
export interface Notes<T> {
  readonly all: T[]
  add(note: T): void
  /** resolves with the list once it has so many entries that fit */
  until(count: number, fits?: (note: T) => boolean): Promise<T[]>
}

export function notes<T>(): Notes<T> {
  const all: T[] = []
  const watchers = new Set<() => void>()
  return {
    all,
    add(note) {
      all.push(note)
      for (const watcher of [...watchers]) watcher()
    },
    until(count, fits = () => true) {
      return new Promise(resolve => {
        const look = () => {
          const fitting = all.filter(fits)
          if (fitting.length < count) return
          watchers.delete(look)
          resolve(fitting)
        }
        watchers.add(look)
        look()
      })
    },
  }
}

export interface StandIns {
  readonly parts: SouthParts
  readonly messages: Notes<DeviceMessage>
  readonly presence: Notes<
    readonly [sign: 'connected' | 'disconnected' | 'called' | 'heard' | 'seen', deviceId: string, connection?: string]
  >
  readonly collected: Notes<unknown>
  readonly polls: Notes<{ deviceId: string; waitMs: number; signal: AbortSignal }>
  readonly refusals: Notes<string>
  /** what `submit` does before it answers; to be replaced */
  onSubmit: (message: DeviceMessage) => Promise<'taken' | 'unknown'>
  onTake: (device: SouthDevice, waitMs: number, signal: AbortSignal) => Promise<OperationRequest | undefined>
  onPresence: () => Promise<void>
  onOwnMessage: (device: SouthDevice, message: OwnMessage) => Promise<unknown>
  onAuthenticate: (deviceId: string, key: string) => Promise<SouthDevice | undefined>
}

/** Every device is of organization 1 and has the key `key-of-<device id>`. */
export function standIns(): StandIns {
  const messages = notes<DeviceMessage>()
  const presence: StandIns['presence'] = notes()
  const collected = notes<unknown>()
  const polls: StandIns['polls'] = notes()
  const refusals = notes<string>()
  const made: StandIns = {
    messages,
    presence,
    collected,
    polls,
    refusals,
    onSubmit: async () => 'taken',
    onTake: async () => undefined,
    onPresence: async () => {},
    onOwnMessage: async () => undefined,
    onAuthenticate: async (deviceId, key) => (key === `key-of-${deviceId}` ? device(deviceId) : undefined),
    parts: {
      access: {
        authenticate: (deviceId, key) => made.onAuthenticate(deviceId, key),
        byToken: async () => undefined,
      },
      answers: {
        submit(message) {
          messages.add(message)
          return made.onSubmit(message)
        },
      },
      pending: {
        take(asking, waitMs, signal) {
          polls.add({ deviceId: asking.deviceId, waitMs, signal })
          return made.onTake(asking, waitMs, signal)
        },
      },
      presence: {
        async connected({ deviceId }, connection) {
          await made.onPresence()
          presence.add(['connected', deviceId, connection])
        },
        async disconnected({ deviceId }, connection) {
          await made.onPresence()
          presence.add(['disconnected', deviceId, connection])
        },
        async called({ deviceId }) {
          await made.onPresence()
          presence.add(['called', deviceId])
        },
        async heard({ deviceId }) {
          await made.onPresence()
          presence.add(['heard', deviceId])
        },
        async seen({ deviceId }) {
          await made.onPresence()
          presence.add(['seen', deviceId])
        },
      },
      collection: {
        async iot({ deviceId }, message) {
          collected.add({ deviceId, iot: message })
        },
        async dmm({ deviceId }, message) {
          collected.add({ deviceId, dmm: message })
        },
      },
      bodyBytesMax: 307_200,
      functions: { respond: (asking, message) => made.onOwnMessage(asking, message) },
      count: refusal => refusals.add(refusal),
      now: () => new Date(),
      log: silentLog,
    },
  }
  return made
}

/** The number of a device is made of the bytes of its id. */
export function device(deviceId: string): SouthDevice {
  return { organization: 1, deviceId, partition: 3, entity: BigInt(`0x${Buffer.from(deviceId).toString('hex')}`) }
}
