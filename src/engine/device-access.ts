/**
 * Lets devices in: by their own key, or by the key of a user who manages devices of its organization. What was found is kept for
 * seconds, so that a device that speaks often costs little, and so that another node's word to end a key is heeded soon.
 * Serves: Authentication.
 */
import { hash } from 'node:crypto'
import { type Caller, may } from '../domain/caller.ts'
import type { Database } from '../store/database.ts'
import { devicesByOwnKey, devicesOf, type OwnedDevice, type ShownKey, usersByKey } from '../store/device-keys.ts'
import type { EntityKey } from '../store/entities.ts'
import type { Clock } from './clock.ts'
import { gathered } from './gathering.ts'

/** A device whose credentials were accepted, and by whose key. */
export interface AuthenticatedDevice extends OwnedDevice {
  readonly by: 'device' | 'user'
}

export interface DeviceAccess {
  /** The device, or undefined where the key is none of its keys. Fails only with the database. */
  authenticate(deviceId: string, key: string): Promise<AuthenticatedDevice | undefined>
  /** A device of the caller's organization, which the caller manages; undefined where that is not so. Fails only with the database. */
  ofCaller(deviceId: string, caller: Caller): Promise<AuthenticatedDevice | undefined>
  /** From now on, on this node, these devices are looked for anew: their keys have changed, or they are gone. */
  forgetDevices(devices: readonly EntityKey[]): void
  /** The same for whoever was let in by a user's key: a user's key or profile has changed, or the user is gone. */
  forgetUsers(): void
}

export interface DeviceAccessParts {
  readonly database: Database
  readonly clock: Clock
  /** the hash by which keys are looked up */
  readonly hashKey: (key: string) => Buffer
  /** how long what was found is kept */
  readonly keptMs?: number
  /** of how many devices it is kept */
  readonly keptMax?: number
}

/** Longer than any key of ours, or of another service that moved here. */
const KEY_LENGTH_MAX = 1_024
const DEVICE_ID_LENGTH_MAX = 256

interface Kept {
  readonly device: AuthenticatedDevice
  readonly until: number
}

export function createDeviceAccess(parts: DeviceAccessParts): DeviceAccess {
  const { database, clock, hashKey, keptMs = 5_000, keptMax = 50_000 } = parts
  const kept = new Map<string, Kept>()
  let forgotten = 0

  const find = gathered((asked: Parameters<typeof devicesOf>[1]) => devicesOf(database, asked))
  const lookUp = gathered((shown: readonly ShownKey[]) => devicesShown(database, shown))

  function keep(name: string, device: AuthenticatedDevice): void {
    kept.delete(name)
    kept.set(name, { device, until: clock.now().getTime() + keptMs })
    if (kept.size > keptMax) kept.delete(kept.keys().next().value!)
  }

  function forget(isMeant: (device: AuthenticatedDevice) => boolean): void {
    forgotten += 1
    for (const [name, { device }] of kept) if (isMeant(device)) kept.delete(name)
  }

  return {
    async authenticate(deviceId, key) {
      if (!isDeviceId(deviceId) || key.length > KEY_LENGTH_MAX) return undefined
      // Keys are not kept in the clear, and the hash by which they are looked up costs more than all else here.
      const name = `${hash('sha256', key, 'base64')} ${deviceId}`
      const known = kept.get(name)
      if (known !== undefined && clock.now().getTime() < known.until) return known.device
      const before = forgotten
      const device = await lookUp({ deviceId, hash: hashKey(key) })
      // A key that was ended meanwhile must not be remembered as good.
      if (device !== undefined && before === forgotten) keep(name, device)
      return device
    },
    async ofCaller(deviceId, { organization, organizationName, profile, mustChangePassword }) {
      if (!isDeviceId(deviceId) || !may(profile, 'manageDevices') || mustChangePassword) return undefined
      const device = await find({ organization, deviceId })
      return device && { ...device, organization, organizationName, deviceId, by: 'user' }
    },
    forgetDevices(devices) {
      const entities = new Set(devices.map(({ entity }) => entity))
      forget(({ entity }) => entities.has(entity))
    },
    forgetUsers: () => forget(({ by }) => by === 'user'),
  }
}

function isDeviceId(text: string): boolean {
  return text.length <= DEVICE_ID_LENGTH_MAX && !text.includes('\u0000') && text.isWellFormed()
}

/** Looks a batch up: first among the devices' own keys, then, for the rest, among the users'. */
async function devicesShown(
  database: Database,
  shown: readonly ShownKey[],
): Promise<(AuthenticatedDevice | undefined)[]> {
  const own = await devicesByOwnKey(database, shown)
  const rest = shown.filter((_, at) => own[at] === undefined)
  const hashes = new Map(rest.map(({ hash }) => [hash.toString('base64'), hash]))
  const users = new Map(
    (await usersByKey(database, [...hashes.values()]))
      .filter(({ profile, mustChangePassword }) => may(profile, 'manageDevices') && !mustChangePassword)
      .map(user => [user.hash.toString('base64'), user]),
  )
  const asked = rest.flatMap(each => {
    const user = users.get(each.hash.toString('base64'))
    return user === undefined ? [] : [{ ...user, each, deviceId: each.deviceId }]
  })
  const found = await devicesOf(database, asked)
  const byUser = new Map<ShownKey, AuthenticatedDevice>()
  for (const [at, { each, organization, organizationName, deviceId }] of asked.entries()) {
    const device = found[at]
    if (device) byUser.set(each, { ...device, organization, organizationName, deviceId, by: 'user' })
  }
  return shown.map((each, at) => {
    const device = own[at]
    return device ? { ...device, by: 'device' } : byUser.get(each)
  })
}
