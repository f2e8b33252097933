/**
 * Where devices are: connected over MQTT, gone, or last seen asking. Refuses to conclude anything from it.
 */
import type { Queryable } from './database.ts'
import type { DeviceNumbers } from './operation-devices.ts'
import { overHttpSql } from './operation-waking.ts'
import { statement } from './statement.ts'

/** A sign of a device: it connected, its connection ended, or it was merely seen. */
export interface PresenceSign extends DeviceNumbers {
  readonly sign: 'connected' | 'disconnected' | 'seen'
  /** which connection, so that a late disconnect does not end the next one */
  readonly connection: string | null
  /** that holds the connection; null where none of ours does */
  readonly node: number | null
  /** whether it came through a broker that tells nobody who is connected */
  readonly overBroker?: boolean
  readonly at: Date
  /** when the connection was made, where that was earlier: it replaces none that was made later */
  readonly since?: Date | undefined
}

// The clocks of nodes differ a little: only what was certainly made earlier is held back.
const replaces = `excluded.mqtt_connection is not null
                       and (p.mqtt_connection is null or p.mqtt_connection = excluded.mqtt_connection or p.mqtt_since is null
                            or excluded.mqtt_since >= p.mqtt_since - interval '1 second')`

const record = statement<
  unknown,
  [number[], bigint[], string[], (string | null)[], (number | null)[], Date[], boolean[], Date[]]
>(
  'presence_record',
  `insert into presence as p
     (partition, entity, mqtt_node, mqtt_connection, connected_at, disconnected_at, seen_at, mqtt_heard_at, mqtt_since)
   select i.partition, i.entity, case i.sign when 'connected' then i.node end, case i.sign when 'connected' then i.connection end,
          case i.sign when 'connected' then i.at end, case i.sign when 'disconnected' then i.at end, i.at,
          case when i.over_broker then i.at end, case i.sign when 'connected' then i.since end
     from unnest($1::smallint[], $2::bigint[], $3::text[], $4::text[], $5::int[], $6::timestamptz[], $7::boolean[], $8::timestamptz[])
       as i(partition, entity, sign, connection, node, at, over_broker, since)
    order by i.partition, i.entity
   on conflict (partition, entity) do update set
     mqtt_node = case when ${replaces} then excluded.mqtt_node
                      when excluded.disconnected_at is not null and p.mqtt_connection = any($4::text[]) then null
                      else p.mqtt_node end,
     mqtt_connection = case when ${replaces} then excluded.mqtt_connection
                            when excluded.disconnected_at is not null and p.mqtt_connection = any($4::text[]) then null
                            else p.mqtt_connection end,
     mqtt_since = case when ${replaces} then excluded.mqtt_since else p.mqtt_since end,
     connected_at = case when ${replaces} then excluded.connected_at else p.connected_at end,
     disconnected_at = coalesce(excluded.disconnected_at, p.disconnected_at),
     seen_at = greatest(p.seen_at, excluded.seen_at),
     mqtt_heard_at = greatest(p.mqtt_heard_at, excluded.mqtt_heard_at)`,
)

/** Records signs, at most one per device in a call. */
export async function recordPresence(db: Queryable, signs: readonly PresenceSign[]): Promise<void> {
  if (signs.length === 0) return
  await db.run(record, [
    signs.map(sign => sign.partition),
    signs.map(sign => sign.entity),
    signs.map(sign => sign.sign),
    signs.map(sign => sign.connection),
    signs.map(sign => sign.node),
    signs.map(sign => sign.at),
    signs.map(sign => sign.overBroker === true),
    signs.map(sign => sign.since ?? sign.at),
  ])
}

const forget = statement<unknown, [Date]>(
  'presence_forget_nodes',
  `update presence set mqtt_node = null, mqtt_connection = null
    where mqtt_node is not null and mqtt_node not in (select node from node where heartbeat_at > $1)`,
)

/** Ends the connections held by nodes that have been silent since an instant. One statement, so that a node that has just come is seen. */
export async function forgetConnectionsOfDead(db: Queryable, silentSince: Date): Promise<void> {
  await db.run(forget, [silentSince])
}

const forgetCalled = statement<unknown, []>(
  'presence_forget_called',
  'update presence set mqtt_connection = null where mqtt_node is null and mqtt_connection is not null',
)

/** Ends the connections that no node holds: there is no broker any more through which devices called. */
export async function forgetCalls(db: Queryable): Promise<void> {
  await db.run(forgetCalled, [])
}

const endSilent = statement<{ count: number }, [Date, Date, number]>(
  'presence_end_silent_calls',
  `with ended as (
     update presence set mqtt_connection = null, disconnected_at = $2
      where ctid = any(array(
        select ctid from presence
         where mqtt_node is null and mqtt_connection is not null and greatest(mqtt_heard_at, connected_at) <= $1
         limit $3 for update skip locked))
     returning entity
   )
   select count(*)::int as count from ended`,
)

/**
 * Ends, as of `now`, the connections that no node holds, of devices that were not heard over their broker since an instant: at most so
 * many. Answers how many.
 */
export async function endSilentCalls(db: Queryable, silentSince: Date, now: Date, limit: number): Promise<number> {
  return (await db.run(endSilent, [silentSince, now, limit]))[0]!.count
}

const thereAmong = statement<DeviceNumbers & { overHttp: boolean }, [number[], bigint[], Date]>(
  'presence_there_among',
  `select d.partition, d.entity, ${overHttpSql} as "overHttp"
     from unnest($1::smallint[], $2::bigint[]) as k(partition, entity)
     join entity d on d.partition = k.partition and d.entity = k.entity
     left join presence p on p.partition = d.partition and p.entity = d.entity
    where p.mqtt_connection is not null and p.connected_at >= $3 or ${overHttpSql}`,
)

/**
 * Those of the devices that are there by now: they have connected over MQTT since an instant and are still connected, or are reached over
 * HTTP.
 */
export function devicesThereAmong(
  db: Queryable,
  devices: readonly DeviceNumbers[],
  since: Date,
): Promise<(DeviceNumbers & { overHttp: boolean })[]> {
  if (devices.length === 0) return Promise.resolve([])
  return db.run(thereAmong, [devices.map(device => device.partition), devices.map(device => device.entity), since])
}

const leftAmong = statement<{ partition: number; entity: bigint }, [number[], bigint[]]>(
  'presence_left_among',
  `select p.partition, p.entity from unnest($1::smallint[], $2::bigint[]) as d(partition, entity)
     join presence p on p.partition = d.partition and p.entity = d.entity
    where p.mqtt_connection is null and p.connected_at is not null`,
)

/** Those of the devices that were connected over MQTT and no longer are; of one that never was, nothing can be told. */
export function leftAmongDevices(db: Queryable, devices: readonly DeviceNumbers[]): Promise<DeviceNumbers[]> {
  if (devices.length === 0) return Promise.resolve([])
  return db.run(leftAmong, [devices.map(device => device.partition), devices.map(device => device.entity)])
}
