/**
 * Whose a key is that a device shows: its own, or a user's. Set-based look-ups; who may use what is not decided here.
 */
import type { Profile } from '../domain/caller.ts'
import { partitionOf } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import type { EntityKey } from './entities.ts'
import { statement } from './statement.ts'

/** A device of an organization. */
export interface OwnedDevice extends EntityKey {
  readonly organization: number
  readonly organizationName: string
  readonly deviceId: string
}

const byKey = statement<OwnedDevice & { at: number }, [string[], Buffer[]]>(
  'device_keys_own',
  `select i.at::int as at, e.partition, e.entity, e.organization, o.name as "organizationName", e.identifier as "deviceId"
     from unnest($1::text[], $2::bytea[]) with ordinality as i(identifier, hash, at)
     join entity e on e.api_key_hash = i.hash and e.identifier = i.identifier and e.resource_type = 'entity.device'
     join organization o on o.organization = e.organization`,
)

/** What a device says of itself: its id, and the hash of the key that it shows. */
export interface ShownKey {
  readonly deviceId: string
  readonly hash: Buffer
}

/** The devices whose own key it is, in the order asked; undefined where it is not. */
export async function devicesByOwnKey(db: Queryable, shown: readonly ShownKey[]): Promise<(OwnedDevice | undefined)[]> {
  if (shown.length === 0) return []
  const rows = await db.run(byKey, [shown.map(({ deviceId }) => deviceId), shown.map(({ hash }) => hash)])
  const found = new Map(rows.map(({ at, ...device }) => [at, device]))
  return shown.map((_, place) => found.get(place + 1))
}

/** A user by whose key something is done. */
export interface KeyUser {
  readonly hash: Buffer
  readonly email: string
  readonly profile: Profile
  readonly mustChangePassword: boolean
  readonly organization: number
  readonly organizationName: string
}

const users = statement<KeyUser, [Buffer[]]>(
  'device_keys_users',
  `select u.api_key_hash as hash, u.email, u.profile, u.organization, o.name as "organizationName",
          u.document @> '{"forcePasswordChange": true}' as "mustChangePassword"
     from users u join organization o on o.organization = u.organization where u.api_key_hash = any($1::bytea[])`,
)

/** The users whose key has one of the hashes. */
export function usersByKey(db: Queryable, hashes: readonly Buffer[]): Promise<KeyUser[]> {
  return hashes.length === 0 ? Promise.resolve([]) : db.run(users, [[...hashes]])
}

const devices = statement<EntityKey & { at: number }, [number[], number[], string[]]>(
  'device_keys_devices',
  `select i.at::int as at, e.partition, e.entity
     from unnest($1::smallint[], $2::int[], $3::text[]) with ordinality as i(partition, organization, identifier, at)
     join entity e on e.partition = i.partition and e.organization = i.organization and e.identifier = i.identifier
      and e.resource_type = 'entity.device'`,
)

/** The devices of those ids in those organizations, in the order asked; undefined where there is none. */
export async function devicesOf(
  db: Queryable,
  asked: readonly { readonly organization: number; readonly deviceId: string }[],
): Promise<(EntityKey | undefined)[]> {
  if (asked.length === 0) return []
  const rows = await db.run(devices, [
    asked.map(({ organization, deviceId }) => partitionOf(organization, deviceId)),
    asked.map(({ organization }) => organization),
    asked.map(({ deviceId }) => deviceId),
  ])
  const found = new Map(rows.map(({ at, partition, entity }) => [at, { partition, entity }]))
  return asked.map((_, place) => found.get(place + 1))
}
