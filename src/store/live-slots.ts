/** The live slots: of each entity at most one launched operation of a name has one, over all jobs. Refuses to know who waits for it. */
import type { OperationKey } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import { keyArrays } from './operations.ts'
import { sameKey } from './same-key.ts'
import { failsUnless, statement } from './statement.ts'

/** The keys of slots that were free, in three columns; null where all of them were, as mostly they are. */
interface Taken {
  jobs: bigint[] | null
  partitions: number[] | null
  entities: bigint[] | null
}

const takenSql = (column: string) =>
  `case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(${column}), '{}') end`

/** The slot of an operation of this name. */
export type WantedSlot = OperationKey & { readonly name: string }

type TakeParams = [bigint[], number[], bigint[], string[]]
const takeSql = `with taken as (
     insert into operation_live (partition, entity, name, job)
     select i.partition, i.entity, i.name, i.job
       from unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::text[]) as i(job, partition, entity, name)
       join operation o on ${sameKey('o', 'i')}
      order by i.partition, i.entity, i.name, i.job
     on conflict do nothing
     returning job, partition, entity
   )`
const takeSlots = statement<Taken, TakeParams>(
  'live_slots_take',
  `${takeSql} select ${takenSql('job')} as jobs, ${takenSql('partition')} as partitions, ${takenSql('entity')} as entities from taken`,
)

/** Takes live slots in entity order; answers those that were free. */
export async function takeLiveSlots(db: Queryable, wanted: readonly WantedSlot[]): Promise<readonly OperationKey[]> {
  if (wanted.length === 0) return []
  const [taken] = await db.run(takeSlots, [...keyArrays(wanted), wanted.map(each => each.name)])
  const { jobs, partitions, entities } = taken!
  if (jobs === null) return wanted
  return jobs.map((job, i) => ({ job, partition: partitions![i]!, entity: entities![i]! }))
}

const takeAllSlots = statement<unknown, TakeParams>(
  'live_slots_take_all',
  `${takeSql} select ${failsUnless('count(*) = cardinality($1::bigint[])')} as whole from taken`,
)

/** Takes live slots in entity order; fails with `22012` unless all of them were free and all of the operations are there. */
export async function takeAllLiveSlots(db: Pick<Queryable, 'run'>, wanted: readonly WantedSlot[]): Promise<void> {
  if (wanted.length > 0) await db.run(takeAllSlots, [...keyArrays(wanted), wanted.map(each => each.name)])
}

const freeSlots = statement<unknown, [bigint[], number[], bigint[]]>(
  'live_slots_free',
  `delete from operation_live l using unnest($1::bigint[], $2::smallint[], $3::bigint[]) as i(job, partition, entity)
    where ${sameKey('l', 'i')}`,
)

/** Frees the live slots that operations hold. */
export async function freeLiveSlots(db: Queryable, keys: readonly OperationKey[]): Promise<void> {
  if (keys.length > 0) await db.run(freeSlots, keyArrays(keys))
}
