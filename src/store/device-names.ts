/** Which devices have an id, whatever their organization: for messages that name their device and nothing else. */
import type { Queryable } from './database.ts'
import type { EntityKey } from './entities.ts'
import { statement } from './statement.ts'

/** A device by the id that it was asked for. */
export interface NamedDevice extends EntityKey {
  readonly organization: number
  readonly deviceId: string
}

const byId = statement<NamedDevice, [string[]]>(
  'device_names_by_id',
  `select e.partition, e.entity, e.organization, e.identifier as "deviceId"
     from entity e where e.identifier = any($1::text[]) and e.resource_type = 'entity.device'`,
)

/** All devices that have one of the ids. */
export function devicesById(db: Queryable, ids: readonly string[]): Promise<NamedDevice[]> {
  return ids.length === 0 ? Promise.resolve([]) : db.run(byId, [[...ids]])
}
