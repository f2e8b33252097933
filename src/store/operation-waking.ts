/**
 * Operations that wait for their devices while the devices are there: made ready again for a whole job, by one statement. Refuses to
 * know why they were not sent before.
 */
import type { OperationStatus } from '../domain/operation.ts'
import type { Queryable } from './database.ts'
import { sameKey } from './same-key.ts'
import { statement } from './statement.ts'

const wake = statement<{ count: number }, [bigint, OperationStatus, OperationStatus, number]>(
  'operation_waking_wake',
  `with present as (
     select o.job, o.partition, o.entity from operation o
       join entity e on e.partition = o.partition and e.entity = o.entity
       join entity d
         on d.partition = case when e.resource_type = 'entity.device' then e.partition else e.device_partition end
        and d.entity = case when e.resource_type = 'entity.device' then e.entity else e.device end
       left join presence p on p.partition = d.partition and p.entity = d.entity
      where o.job = $1 and o.status = $2::operation_status
        and case when d.flow is null then p.mqtt_connection is not null or d.url is not null or d.address is not null
                 else d.flow = 'http' or d.flow <> 'pull' and p.mqtt_connection is not null end
      order by o.partition, o.entity for no key update of o
   ), woken as (
     update operation o set status = $3::operation_status, sender = null from present
      where ${sameKey('o', 'present')}
     returning o.job, o.partition, o.entity
   ), ready as (
     insert into operation_ready (job, place, partition, entity)
     select w.job, $4, w.partition, w.entity from woken w
     on conflict (job, place, partition, entity) do update set place = excluded.place
   )
   select count(*)::int as count from woken`,
)

/**
 * Moves a job's operations in `from` whose devices are connected over MQTT or reached over HTTP, and do not fetch their requests by
 * themselves, to `to` and makes them ready at a place; answers how many.
 */
export async function wakeOperationsOfJob(
  db: Queryable,
  job: bigint,
  { from, to, place }: { readonly from: OperationStatus; readonly to: OperationStatus; readonly place: number },
): Promise<number> {
  return (await db.run(wake, [job, from, to, place]))[0]!.count
}
