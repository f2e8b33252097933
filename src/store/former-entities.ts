/** What ended operations were on once it is deleted. Written where entities are deleted; here it is forgotten. */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

const forget = statement<unknown, [Date, number]>(
  'former_entities_forget',
  `delete from former_entity where ctid = any(array(select ctid from former_entity where deleted_at < $1 limit $2))`,
)

/** Forgets up to `limit` of those deleted before an instant; all that ran on them ended before it. */
export async function forgetFormerEntities(db: Queryable, before: Date, limit: number): Promise<void> {
  await db.run(forget, [before, limit])
}
