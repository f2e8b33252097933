/** Where the devices of an organization are, one by one and counted, for the people who look. It records nothing. */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** What is known of one device's connection. */
export interface DevicePresence {
  connected: boolean
  connectedAt: Date | null
  disconnectedAt: Date | null
  seenAt: Date | null
}

const one = statement<DevicePresence, [number, number, string]>(
  'device_presence_one',
  `select p.mqtt_connection is not null as connected, p.connected_at as "connectedAt", p.disconnected_at as "disconnectedAt",
          p.seen_at as "seenAt"
     from entity e left join presence p on p.partition = e.partition and p.entity = e.entity
    where e.partition = $1 and e.organization = $2 and e.identifier = $3 and e.resource_type = 'entity.device'`,
)

/** The presence of a device; undefined where there is no such device. */
export async function readDevicePresence(
  db: Queryable,
  partition: number,
  organization: number,
  identifier: string,
): Promise<DevicePresence | undefined> {
  return (await db.run(one, [partition, organization, identifier]))[0]
}

/** How many devices are there. */
export interface DeviceCounts {
  devices: number
  connected: number
  seenLately: number
}

const counts = statement<DeviceCounts, [number, Date]>(
  'device_presence_counts',
  `select (select count(*)::int from entity where organization = $1 and resource_type = 'entity.device') as devices,
          count(*) filter (where p.mqtt_connection is not null)::int as connected,
          count(*) filter (where p.mqtt_connection is not null or p.seen_at >= $2)::int as "seenLately"
     from presence p join entity e on e.partition = p.partition and e.entity = p.entity
    where e.organization = $1 and (p.mqtt_connection is not null or p.seen_at >= $2)`,
)

/** Counts the devices of an organization, and those that are connected or were heard of since an instant. */
export async function countDevices(db: Queryable, organization: number, since: Date): Promise<DeviceCounts> {
  return (await db.run(counts, [organization, since]))[0]!
}
