/**
 * What stands around one operation and holds it: its place among the ready ones, its pause, who else is live on its entity, and
 * where its device is. Read for one question of a person, never on the way of a launch.
 */
import type { OperationKey } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import type { DeviceNumbers } from './operation-devices.ts'
import { statement } from './statement.ts'

// The key leads with the place, so that this looks through the job's index.
const place = statement<{ place: number }, [bigint, number, bigint]>(
  'operation_explaining_place',
  'select min(place) as place from operation_ready where job = $1 and partition = $2 and entity = $3',
)

/** The place at which an operation is ready, or null. */
export async function readyPlace(db: Queryable, { job, partition, entity }: OperationKey): Promise<number | null> {
  return (await db.run(place, [job, partition, entity]))[0]?.place ?? null
}

const retry = statement<{ dueAt: Date | null }, [bigint, number, bigint]>(
  'operation_explaining_retry',
  `select min(t.due_at) as "dueAt" from operation_timer t
    where t.duty = 'retry' and $3 = any(t.entities)
      and exists (select from unnest(t.jobs, t.partitions, t.entities) as k(job, partition, entity)
                   where k.job = $1 and k.partition = $2 and k.entity = $3)`,
)

/** When the armed pause of an operation between attempts ends, or null. */
export async function retryDueAt(db: Queryable, { job, partition, entity }: OperationKey): Promise<Date | null> {
  return (await db.run(retry, [job, partition, entity]))[0]?.dueAt ?? null
}

const holder = statement<{ job: bigint }, [number, bigint, string]>(
  'operation_explaining_holder',
  'select job from operation_live where partition = $1 and entity = $2 and name = $3',
)

/** The job whose operation of a name is live on an entity, or null. */
export async function liveHolder(
  db: Queryable,
  { partition, entity }: DeviceNumbers,
  name: string,
): Promise<bigint | null> {
  return (await db.run(holder, [partition, entity, name]))[0]?.job ?? null
}

const seen = statement<{ connected: boolean; seenAt: Date }, [number, bigint]>(
  'operation_explaining_presence',
  `select mqtt_connection is not null as connected, seen_at as "seenAt" from presence where partition = $1 and entity = $2`,
)

/** Whether a device is connected and when it was last seen; undefined where it never was. */
export async function presenceOf(
  db: Queryable,
  { partition, entity }: DeviceNumbers,
): Promise<{ readonly connected: boolean; readonly seenAt: Date } | undefined> {
  return (await db.run(seen, [partition, entity]))[0]
}
