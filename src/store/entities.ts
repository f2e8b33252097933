/**
 * Provisioned entities: read, locked, inserted, written over and deleted by the batch, their columns in step with their document.
 * Refuses to judge a document. Serves: Authentication and device-side endpoints (provisioning).
 */

import type { KeptValues } from '../domain/collected.ts'
import type { ResourceType } from '../domain/data-model.ts'
import { type Entity, traitsOf } from '../domain/entity.ts'
import { partitionOf } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import { ENTITY_KEY, sameKey } from './same-key.ts'
import { statement } from './statement.ts'

/** An entity by the numbers that every hot table knows it by. */
export interface EntityKey {
  readonly partition: number
  readonly entity: bigint
}

/** An entity as stored. */
export interface StoredEntity extends Entity, EntityKey {
  readonly createdAt: Date
  readonly updatedAt: Date
}

interface Row extends EntityKey {
  identifier: string
  resourceType: ResourceType
  document: Record<string, unknown>
  createdAt: Date
  updatedAt: Date
}

const columns = `e.partition, e.entity, e.identifier, e.resource_type as "resourceType", e.document,
          e.created_at as "createdAt", e.updated_at as "updatedAt"`

const asked = `from unnest($2::smallint[], $3::text[]) as a(partition, identifier)
     join entity e on e.partition = a.partition and e.organization = $1 and e.identifier = a.identifier`

const read = statement<Row, [number, number[], readonly string[]]>('entities_read', `select ${columns} ${asked}`)

const lock = statement<Row, [number, number[], readonly string[]]>(
  'entities_lock',
  `select ${columns} ${asked} order by e.partition, e.entity for update of e`,
)

function byIdentifiers(organization: number, identifiers: readonly string[]): [number, number[], readonly string[]] {
  return [organization, identifiers.map(identifier => partitionOf(organization, identifier)), identifiers]
}

/** Those of the identifiers that an organization has, in no order. */
export function readEntities(
  db: Queryable,
  organization: number,
  identifiers: readonly string[],
): Promise<StoredEntity[]> {
  return identifiers.length === 0 ? Promise.resolve([]) : db.run(read, byIdentifiers(organization, identifiers))
}

/** The same, locked in the order of their keys until the transaction ends. */
export function lockEntities(
  db: Queryable,
  organization: number,
  identifiers: readonly string[],
): Promise<StoredEntity[]> {
  return identifiers.length === 0 ? Promise.resolve([]) : db.run(lock, byIdentifiers(organization, identifiers))
}

/** An entity with what it collected last. */
export interface FoundEntity extends StoredEntity {
  readonly collected: KeptValues
}

const readAmong = statement<Row & { collected: KeptValues }, [number[], bigint[]]>(
  'entities_read_among',
  `select ${columns}, e.collected
     from unnest($1::smallint[], $2::bigint[]) with ordinality as k(partition, entity, place)
     join entity e on e.partition = k.partition and e.entity = k.entity order by k.place`,
)

/** The entities of the keys, in their order. */
export function readEntitiesAmong(db: Queryable, keys: readonly EntityKey[]): Promise<FoundEntity[]> {
  return keys.length === 0 ? Promise.resolve([]) : db.run(readAmong, keyColumns(keys))
}

/** A device's key as it is kept: for look-up, and for the header of a push. */
export interface KeptKey {
  readonly hash: Buffer
  readonly sealed: Buffer
}

/** An entity to be inserted, numbered; devices have a key. */
export interface NewEntity extends Entity {
  readonly entity: bigint
  readonly key: KeptKey | null
}

type Documents = [
  string[],
  string[],
  (string | null)[],
  (string | null)[],
  (string | null)[],
  string[],
  (string | null)[],
]

/** document, tags, model, flow, url, parameters_as, address */
function documentArrays(entities: readonly Entity[]): Documents {
  const traits = entities.map(traitsOf)
  return [
    entities.map(({ document }) => JSON.stringify(document)),
    traits.map(({ tags }) => JSON.stringify(tags)),
    traits.map(({ model }) => model),
    traits.map(({ flow }) => flow),
    traits.map(({ url }) => url),
    traits.map(({ parametersAs }) => parametersAs),
    traits.map(({ address }) => address),
  ]
}

const insert = statement<
  EntityKey & { identifier: string },
  [number, Date, number[], bigint[], string[], string[], (Buffer | null)[], (Buffer | null)[], ...Documents]
>(
  'entities_insert',
  `insert into entity (organization, created_at, updated_at, partition, entity, identifier, resource_type, api_key_hash,
                       api_key_sealed, document, tags, model, flow, url, parameters_as, address)
   select $1, $2, $2, i.partition, i.entity, i.identifier, i.resource_type, i.api_key_hash, i.api_key_sealed, i.document,
          array(select jsonb_array_elements_text(i.tags)), i.model, i.flow, i.url, i.parameters_as, i.address
     from unnest($3::smallint[], $4::bigint[], $5::text[], $6::text[], $7::bytea[], $8::bytea[], $9::jsonb[], $10::jsonb[],
                 $11::text[], $12::text[], $13::text[], $14::text[], $15::text[])
       as i(partition, entity, identifier, resource_type, api_key_hash, api_key_sealed, document, tags, model, flow, url,
            parameters_as, address)
    order by i.partition, i.identifier
   on conflict (partition, organization, identifier) do nothing
   returning partition, entity, identifier`,
)

/** Inserts entities, and answers those that were not there already. */
export async function insertEntities(
  db: Queryable,
  organization: number,
  entities: readonly NewEntity[],
  now: Date,
): Promise<(EntityKey & { identifier: string })[]> {
  if (entities.length === 0) return []
  return await db.run(insert, [
    organization,
    now,
    entities.map(({ identifier }) => partitionOf(organization, identifier)),
    entities.map(({ entity }) => entity),
    entities.map(({ identifier }) => identifier),
    entities.map(({ resourceType }) => resourceType),
    entities.map(({ key }) => key?.hash ?? null),
    entities.map(({ key }) => key?.sealed ?? null),
    ...documentArrays(entities),
  ])
}

const update = statement<unknown, [Date, number[], bigint[], ...Documents]>(
  'entities_update',
  `update entity e
      set document = i.document, tags = array(select jsonb_array_elements_text(i.tags)), model = i.model, flow = i.flow,
          url = i.url, parameters_as = i.parameters_as, address = i.address, updated_at = $1
     from unnest($2::smallint[], $3::bigint[], $4::jsonb[], $5::jsonb[], $6::text[], $7::text[], $8::text[], $9::text[],
                 $10::text[])
       as i(partition, entity, document, tags, model, flow, url, parameters_as, address)
    where e.partition = i.partition and e.entity = i.entity`,
)

/** Writes over the documents of entities that are locked. */
export async function updateEntities(
  db: Queryable,
  entities: readonly (Entity & EntityKey)[],
  now: Date,
): Promise<void> {
  if (entities.length === 0) return
  await db.run(update, [now, ...keyColumns(entities), ...documentArrays(entities)])
}

const remove = statement<unknown, [Date, number[], bigint[]]>(
  'entities_delete',
  `with gone as (
     delete from entity e using unnest($2::smallint[], $3::bigint[]) as i(partition, entity)
      where ${sameKey('e', 'i', ENTITY_KEY)}
     returning e.partition, e.entity, e.organization, e.identifier, e.resource_type
   ), absent as (
     delete from presence p using gone g where ${sameKey('p', 'g', ENTITY_KEY)}
   )
   insert into former_entity (partition, entity, organization, identifier, resource_type, deleted_at)
   select g.partition, g.entity, g.organization, g.identifier, g.resource_type, $1 from gone g
    where exists (select from operation_ended o where o.partition = g.partition and o.entity = g.entity)
       or exists (select from operation o where ${sameKey('o', 'g', ENTITY_KEY)})`,
)

/** Deletes entities that are locked, and where they were. Operations that ended on them, or are open, still know what they were on. */
export async function deleteEntities(db: Queryable, keys: readonly EntityKey[], now: Date): Promise<void> {
  if (keys.length > 0) await db.run(remove, [now, ...keyColumns(keys)])
}

function keyColumns(keys: readonly EntityKey[]): [number[], bigint[]] {
  return [keys.map(({ partition }) => partition), keys.map(({ entity }) => entity)]
}

const replaceKey = statement<EntityKey, [number, number, string, Buffer | null, Buffer | null]>(
  'entities_replace_key',
  `update entity set api_key_hash = $4, api_key_sealed = $5
    where partition = $1 and organization = $2 and identifier = $3 and resource_type = 'entity.device'
   returning partition, entity`,
)

/** Gives a device another key, or none; answers the device, or undefined where the organization has no such one. */
export async function replaceDeviceKey(
  db: Queryable,
  organization: number,
  identifier: string,
  key: KeptKey | null,
): Promise<EntityKey | undefined> {
  const params = [partitionOf(organization, identifier), organization, identifier] as const
  return (await db.run(replaceKey, [...params, key?.hash ?? null, key?.sealed ?? null]))[0]
}
