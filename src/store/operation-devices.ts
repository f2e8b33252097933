/**
 * The device behind an operation: where it is, how it is reached and whether it is there; and the operations that wait for a
 * device. Set-based look-ups, nothing else.
 */
import type { OperationKey } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import { keyArrays, type OperationRow } from './operations.ts'
import { ENTITY_KEY, sameKey } from './same-key.ts'
import { statement } from './statement.ts'

/** What a launch needs to know of an operation's entity and of the device that carries it. */
export interface LaunchSubject extends OperationKey {
  entityId: string
  resourceType: string
  model: string | null
  /** null where nothing carries the entity */
  deviceId: string | null
  devicePartition: number | null
  device: bigint | null
  flow: string | null
  url: string | null
  address: string | null
  parametersAs: 'typed' | 'object'
  apiKeySealed: Buffer | null
  mqttConnected: boolean
}

const subjects = statement<LaunchSubject, [bigint[], number[], bigint[]]>(
  'operation_devices_subjects',
  `select k.job, k.partition, k.entity, e.identifier as "entityId", e.resource_type as "resourceType", e.model,
          d.identifier as "deviceId", d.partition as "devicePartition", d.entity as device, d.flow, d.url, d.address,
          coalesce(d.parameters_as, 'typed') as "parametersAs", d.api_key_sealed as "apiKeySealed",
          coalesce(p.mqtt_connection is not null, false) as "mqttConnected"
     from unnest($1::bigint[], $2::smallint[], $3::bigint[]) as k(job, partition, entity)
     join entity e on e.partition = k.partition and e.entity = k.entity
     left join lateral (
       select e.identifier, e.partition, e.entity, e.flow, e.url, e.address, e.parameters_as, e.api_key_sealed
        where e.resource_type = 'entity.device'
       union all
       select c.identifier, c.partition, c.entity, c.flow, c.url, c.address, c.parameters_as, c.api_key_sealed
         from entity c
        where e.resource_type <> 'entity.device' and c.partition = e.device_partition and c.entity = e.device
     ) d on true
     left join presence p on p.partition = d.partition and p.entity = d.entity`,
)

/** The subjects of operations; an operation whose entity is gone has none. */
export function readLaunchSubjects(db: Queryable, keys: readonly OperationKey[]): Promise<LaunchSubject[]> {
  return keys.length === 0 ? Promise.resolve([]) : db.run(subjects, keyArrays(keys))
}

/** A device by the numbers of its entity. */
export interface DeviceNumbers {
  readonly partition: number
  readonly entity: bigint
}

/** An open operation that concerns a device, its entity or one that it carries. */
export interface DeviceOperation extends OperationKey {
  status: OperationRow['status']
  flow: OperationRow['flow']
  heardAt: Date | null
  devicePartition: number
  device: bigint
  /** as provisioned */
  deviceFlow: string | null
}

const live = statement<DeviceOperation, [number[], bigint[]]>(
  'operation_devices_live',
  `with devices as (
     select d.partition, d.entity from unnest($1::smallint[], $2::bigint[]) as d(partition, entity)
   ), carried as (
     select partition, entity, partition as device_partition, entity as device from devices
     union all
     select e.partition, e.entity, d.partition, d.entity from devices d
       join entity e on e.device = d.entity and e.device_partition = d.partition
   )
   select o.job, o.partition, o.entity, o.status, o.flow, o.heard_at as "heardAt",
          c.device_partition as "devicePartition", c.device, d.flow as "deviceFlow"
     from carried c
     join entity d on d.partition = c.device_partition and d.entity = c.device
     join operation_live l on ${sameKey('l', 'c', ENTITY_KEY)}
     join operation o on ${sameKey('o', 'l')}
    where o.status in ('QUEUED', 'WAITING_FOR_CONNECTION', 'WAITING_FOR_ACK', 'IN_PROGRESS')`,
)

/** The launched operations of devices. */
export function liveOperationsOf(db: Queryable, devices: readonly DeviceNumbers[]): Promise<DeviceOperation[]> {
  if (devices.length === 0) return Promise.resolve([])
  return db.run(live, [devices.map(device => device.partition), devices.map(device => device.entity)])
}

/** An entity, and a device that claims to carry it. */
export interface Carriage extends DeviceNumbers {
  readonly devicePartition: number
  readonly device: bigint
}

const carried = statement<{ carried: boolean }, [number[], bigint[], number[], bigint[]]>(
  'operation_devices_carried',
  `select e.entity is not null as carried
     from unnest($1::smallint[], $2::bigint[], $3::smallint[], $4::bigint[]) with ordinality
       as c(partition, entity, device_partition, device, place)
     left join entity e on e.partition = c.partition and e.entity = c.entity
      and e.device_partition = c.device_partition and e.device = c.device
    order by c.place`,
)

/** Whether each entity is carried by the device named with it, in the order given. */
export async function carriedAmong(db: Queryable, pairs: readonly Carriage[]): Promise<boolean[]> {
  const rows = await db.run(carried, [
    pairs.map(pair => pair.partition),
    pairs.map(pair => pair.entity),
    pairs.map(pair => pair.devicePartition),
    pairs.map(pair => pair.device),
  ])
  return rows.map(row => row.carried)
}
