/**
 * Operations that wait for their devices while the devices are there: made ready again, for a whole job or for devices, by one
 * statement. Refuses to know why they were not sent before.
 */
import type { OperationStatus } from '../domain/operation.ts'
import type { Queryable, Transaction } from './database.ts'
import type { DeviceNumbers } from './operation-devices.ts'
import { planByKey } from './plan-by-key.ts'
import { ENTITY_KEY, sameKey } from './same-key.ts'
import { statement } from './statement.ts'

/** How what `present` holds moves on. */
const wokenSql = (to: string, place: string) => `woken as (
     update operation o set status = ${to}::operation_status, sender = null from present
      where ${sameKey('o', 'present')}
     returning o.job, o.partition, o.entity
   ), ready as (
     insert into operation_ready (job, place, partition, entity)
     select w.job, ${place}, w.partition, w.entity from woken w
     on conflict (job, place, partition, entity) do update set place = excluded.place
   )`

/** By which an operation that waits moves on. */
export interface Waking {
  readonly from: OperationStatus
  readonly to: OperationStatus
  readonly place: number
}

/** The devices `d` of operations `o`, with their presence `p`. */
export const ofDevicesSql = `join entity e on e.partition = o.partition and e.entity = o.entity
       join entity d
         on d.partition = case when e.resource_type = 'entity.device' then e.partition else e.device_partition end
        and d.entity = case when e.resource_type = 'entity.device' then e.entity else e.device end
       left join presence p on p.partition = d.partition and p.entity = d.entity`

/** Where these are connected over MQTT or reached over HTTP, and do not fetch their requests by themselves. */
export const isThereSql = `case when d.flow is null then p.mqtt_connection is not null or d.url is not null or d.address is not null
                 else d.flow = 'http' or d.flow <> 'pull' and p.mqtt_connection is not null end`

const wake = statement<{ count: number }, [bigint, OperationStatus, OperationStatus, number]>(
  'operation_waking_wake',
  `with present as (
     select o.job, o.partition, o.entity from operation o
       ${ofDevicesSql}
      where o.job = $1 and o.status = $2::operation_status
        and ${isThereSql}
      order by o.partition, o.entity for no key update of o
   ), ${wokenSql('$3', '$4')}
   select count(*)::int as count from woken`,
)

/**
 * Moves a job's operations in `from` whose devices are connected over MQTT or reached over HTTP, and do not fetch their requests by
 * themselves, to `to` and makes them ready at a place; answers how many.
 */
export async function wakeOperationsOfJob(db: Queryable, job: bigint, { from, to, place }: Waking): Promise<number> {
  return (await db.run(wake, [job, from, to, place]))[0]!.count
}

/** Where devices `d` with presence `p` are reached over HTTP, and are thus never away. */
export const overHttpSql = `(d.flow = 'http' or d.flow is null and p.mqtt_connection is null
             and (d.url is not null or d.address is not null))`

const wakeOfDevices = statement<
  { job: bigint; count: number },
  [number[], bigint[], OperationStatus, OperationStatus, number]
>(
  'operation_waking_of_devices',
  `with devices as (
     select d.partition, d.entity from unnest($1::smallint[], $2::bigint[]) as k(partition, entity)
       join entity d on d.partition = k.partition and d.entity = k.entity
       left join presence p on p.partition = d.partition and p.entity = d.entity
      where ${overHttpSql}
   ), carried as (
     select partition, entity from devices
     union
     select e.partition, e.entity from devices d
       join entity e on e.device = d.entity and e.device_partition = d.partition
   ), present as (
     select o.job, o.partition, o.entity from carried c
       join operation_live l on ${sameKey('l', 'c', ENTITY_KEY)}
       join operation o on ${sameKey('o', 'l')}
      where o.status = $3::operation_status
      order by l.job, l.partition, l.entity for no key update of o
   ), ${wokenSql('$4', '$5')}
   select job, count(*)::int as count from woken group by job`,
)

/**
 * Moves the operations in `from` of those of the devices that are reached over HTTP, and of what they carry, to `to` and makes them
 * ready at a place; answers how many of which job. What the transaction asks after it is found by key, too.
 */
export async function wakeOperationsOfDevices(
  tx: Transaction,
  devices: readonly DeviceNumbers[],
  { from, to, place }: Waking,
): Promise<{ job: bigint; count: number }[]> {
  if (devices.length === 0) return []
  const keys = [devices.map(({ partition }) => partition), devices.map(({ entity }) => entity)] as const
  await tx.executeSql(planByKey)
  return await tx.run(wakeOfDevices, [...keys, from, to, place])
}
