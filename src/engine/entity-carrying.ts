/**
 * What carries what, kept in step with entities as they are written and deleted: devices carry subscriptions, subscribers and modules, and
 * are reached by the address of theirs. Refuses to write the entities themselves, and to lock: whoever calls has done both.
 */
import { IDENTIFIER_IDS, IDS, MODULES, type ResourceType } from '../domain/data-model.ts'
import { carriedBy, type Entity } from '../domain/entity.ts'
import { partitionOf } from '../domain/identity.ts'
import { settleCarried, writeCarried } from '../store/carried.ts'
import type { Transaction } from '../store/database.ts'
import type { EntityKey } from '../store/entities.ts'

/** An entity written or deleted, as far as its carrying is concerned. */
export interface Linked extends EntityKey {
  readonly identifier: string
  readonly resourceType: ResourceType
  /** as it is from now on; undefined where it is deleted */
  readonly now: Entity | undefined
}

/** Whether an entity carries others, or can be carried. */
export function isLinked(entity: Entity): boolean {
  return canBeCarried(entity) || carriedBy(entity).length > 0
}

/** Brings what carries what in step with what was written; answers the devices whose address was changed by it. */
export async function settleLinked(
  tx: Transaction,
  organization: number,
  linked: readonly Linked[],
): Promise<readonly EntityKey[]> {
  if (linked.length === 0) return []
  const devices = linked.filter(({ resourceType }) => resourceType === 'entity.device')
  const named = devices.length > 0 ? await writeCarried(tx, organization, devices) : []
  const own = linked
    .filter(canBeCarried)
    .map(({ identifier }) => ({ identifier, partition: partitionOf(organization, identifier) }))
  return await settleCarried(tx, organization, [...named, ...own], devices, IDS.address)
}

function canBeCarried({ resourceType }: Pick<Linked, 'resourceType'>): boolean {
  return IDENTIFIER_IDS[resourceType].startsWith(MODULES)
}
