/** The live slots: of each entity at most one launched operation of a name has one, over all jobs. Refuses to know who waits for it. */
import type { OperationKey } from '../domain/identity.ts'
import type { Queryable } from './database.ts'
import { keyArrays } from './operations.ts'
import { sameKey } from './same-key.ts'
import { statement } from './statement.ts'

const takeSlots = statement<OperationKey, [bigint[], number[], bigint[], string[]]>(
  'claims_take_slots',
  `insert into operation_live (partition, entity, name, job)
   select i.partition, i.entity, i.name, i.job
     from unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::text[]) as i(job, partition, entity, name)
     join operation o on ${sameKey('o', 'i')}
    order by i.partition, i.entity, i.name, i.job
   on conflict do nothing
   returning job, partition, entity`,
)

/** Takes live slots in entity order; answers those that were free. */
export function takeLiveSlots(
  db: Queryable,
  wanted: readonly (OperationKey & { readonly name: string })[],
): Promise<OperationKey[]> {
  if (wanted.length === 0) return Promise.resolve([])
  return db.run(takeSlots, [...keyArrays(wanted), wanted.map(each => each.name)])
}

const freeSlots = statement<unknown, [bigint[], number[], bigint[]]>(
  'claims_free_slots',
  `delete from operation_live l using unnest($1::bigint[], $2::smallint[], $3::bigint[]) as i(job, partition, entity)
    where ${sameKey('l', 'i')}`,
)

/** Frees the live slots that operations hold. */
export async function freeLiveSlots(db: Queryable, keys: readonly OperationKey[]): Promise<void> {
  if (keys.length > 0) await db.run(freeSlots, keyArrays(keys))
}
