/**
 * Which device carries a module, subscription or subscriber: what devices say of it, and the columns of `entity` that follow from it,
 * the same whichever of the two was provisioned first. Callers hold the organization's lock.
 */
import { type Carried, carriedBy, type Entity } from '../domain/entity.ts'
import { partitionOf } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import type { EntityKey } from './entities.ts'
import { statement } from './statement.ts'

/** Something named as carried, by where it would lie. */
export interface CarriedName {
  readonly partition: number
  readonly identifier: string
}

/** One lock per organization, under a number of its own for what it locks. */
const lock = statement<unknown, [number]>('carried_lock', 'select pg_advisory_xact_lock(227273, $1)')

/**
 * Keeps all others from changing what carries what in an organization until the transaction ends: a device and what it carries,
 * written at the same time, would not see each other. To be taken before any row is locked.
 */
export async function lockCarried(db: Queryable, organization: number): Promise<void> {
  await db.run(lock, [organization])
}

type Rows = [number, number[], string[], string[], number[], bigint[], number[]]

const forget = statement<CarriedName, [...Rows, number[], bigint[]]>(
  'carried_forget',
  `delete from carried c using unnest($8::smallint[], $9::bigint[]) as d(partition, entity)
    where c.device_partition = d.partition and c.device = d.entity and c.organization = $1
      and not exists (
        select from unnest($2::smallint[], $3::text[], $4::text[], $5::smallint[], $6::bigint[], $7::smallint[])
            as n(partition, identifier, resource_type, device_partition, device, place)
         where n.partition = c.partition and n.identifier = c.identifier and n.resource_type = c.resource_type
           and n.device_partition = c.device_partition and n.device = c.device)
   returning c.partition, c.identifier`,
)

const remember = statement<unknown, Rows>(
  'carried_remember',
  `insert into carried as c (organization, partition, identifier, resource_type, device_partition, device, place)
   select $1, n.* from unnest($2::smallint[], $3::text[], $4::text[], $5::smallint[], $6::bigint[], $7::smallint[])
       as n(partition, identifier, resource_type, device_partition, device, place)
   on conflict (partition, organization, identifier, resource_type, device_partition, device)
   do update set place = excluded.place where c.place <> excluded.place`,
)

/**
 * Writes down what devices carry now, in place of what they carried before; a device that is gone carries nothing. Answers all that
 * was or is named.
 */
export async function writeCarried(
  db: Queryable,
  organization: number,
  devices: readonly (EntityKey & { readonly now: Entity | undefined })[],
): Promise<CarriedName[]> {
  const named = devices.flatMap(({ partition, entity, now }) =>
    (now ? carriedBy(now) : []).map((carried: Carried) => ({
      ...carried,
      partition: partitionOf(organization, carried.identifier),
      devicePartition: partition,
      device: entity,
    })),
  )
  const rows: Rows = [
    organization,
    named.map(({ partition }) => partition),
    named.map(({ identifier }) => identifier),
    named.map(({ resourceType }) => resourceType),
    named.map(({ devicePartition }) => devicePartition),
    named.map(({ device }) => device),
    named.map(({ position }) => position),
  ]
  const keys = [devices.map(({ partition }) => partition), devices.map(({ entity }) => entity)] as const
  const forgotten = await db.run(forget, [...rows, ...keys])
  if (named.length > 0) await db.run(remember, rows)
  return [...forgotten, ...named]
}

const settleCarriers = statement<unknown, [number, number[], string[]]>(
  'carried_settle_carriers',
  `update entity s
      set device_partition = x.device_partition, device = x.device, cell_info = coalesce(x.cell_info, s.cell_info)
     from (
       select e.partition, e.entity, c.device_partition, c.device, d.cell_info
         from (select distinct * from unnest($2::smallint[], $3::text[]) as u(partition, identifier)) n
         join entity e on e.partition = n.partition and e.organization = $1 and e.identifier = n.identifier
         left join lateral (
           select c.device_partition, c.device from carried c
            where c.partition = n.partition and c.organization = $1 and c.identifier = n.identifier
              and c.resource_type = e.resource_type
            order by c.device limit 1) c on true
         left join entity d on d.partition = c.device_partition and d.entity = c.device
        where e.resource_type <> 'entity.device') x
    where s.partition = x.partition and s.entity = x.entity and s.device is distinct from x.device`,
)

const settleAddresses = statement<EntityKey, [number, number[], string[], number[], bigint[], string]>(
  'carried_settle_addresses',
  `update entity d set address = x.address
     from (
       select e.partition, e.entity, coalesce(e.document -> $6 -> 0 ->> 'value', s.address) as address
         from (
           select c.device_partition as partition, c.device as entity
             from unnest($2::smallint[], $3::text[]) as n(partition, identifier)
             join carried c on c.partition = n.partition and c.organization = $1 and c.identifier = n.identifier
            union select * from unnest($4::smallint[], $5::bigint[])) k
         join entity e on e.partition = k.partition and e.entity = k.entity
         left join lateral (
           select s.address from carried c
             join entity s on s.partition = c.partition and s.organization = c.organization
              and s.identifier = c.identifier and s.resource_type = c.resource_type
            where c.device_partition = k.partition and c.device = k.entity
              and c.resource_type = 'entity.subscription' and s.address is not null
            order by c.place, c.identifier limit 1) s on true
        where e.resource_type = 'entity.device') x
    where d.partition = x.partition and d.entity = x.entity and d.address is distinct from x.address
   returning d.partition, d.entity`,
)

/**
 * Brings the columns of `entity` in step: of everything named, the device that carries it (of several, the one provisioned first)
 * and where that is; of the devices, and of those that carry something named, their address: their own first one, else that of the first subscription
 * they carry. Answers the devices whose address was changed.
 */
export async function settleCarried(
  db: Queryable,
  organization: number,
  names: readonly CarriedName[],
  devices: readonly EntityKey[],
  addressId: string,
): Promise<EntityKey[]> {
  const arrays = [names.map(({ partition }) => partition), names.map(({ identifier }) => identifier)] as const
  if (names.length > 0) await db.run(settleCarriers, [organization, ...arrays])
  return await db.run(settleAddresses, [
    organization,
    ...arrays,
    devices.map(({ partition }) => partition),
    devices.map(({ entity }) => entity),
    addressId,
  ])
}
