/**
 * Messages that changed nothing, kept for the people who look: of each device the newest, so that one that says the same all day leaves
 * room for the others. Refuses to interpret them.
 */
import { cutText } from '../domain/storable.ts'
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** A message that changed nothing, and why. */
export interface FiledMessage {
  readonly organization: number
  /** public identifier of the device */
  readonly identifier: string
  readonly operationId: string
  readonly reason: string
  readonly message: string
}

const CHARACTERS_MAX = 4_000

/** Messages that are kept of one device. */
export const FILED_MAX = 100
/** Older ones of a device that go at a time, where there are more than are kept. */
const GONE_MAX = 1_000

// Two nodes may file for one device at once, and see nothing of each other: the next one to file makes up for that.
const file = statement<unknown, [number[], Date, string[], string[], string[], string[], number, number]>(
  'filed_messages_file',
  `with incoming as materialized (
     select * from unnest($1::int[], $3::text[], $4::text[], $5::text[], $6::text[])
       as i(organization, identifier, operation_id, reason, message)
   ), gone as (
     delete from filed_message
      where ctid = any(array(
        select ctid from filed_message
         where ctid = any(array(
           select older.ctid
             from (select organization, identifier, count(*) as count from incoming group by organization, identifier) d
            cross join lateral (
              select f.ctid from filed_message f where f.organization = d.organization and f.identifier = d.identifier
               order by f.received_at desc offset greatest($7 - d.count, 0) limit $8) older))
         for update skip locked))
   )
   insert into filed_message (organization, received_at, identifier, operation_id, reason, message)
   select i.organization, $2, i.identifier, i.operation_id, i.reason, i.message from incoming i`,
)

const storable = (text: string) => cutText(text, CHARACTERS_MAX)

/** The newest of each device, in their order. */
function newestOfEach(messages: readonly FiledMessage[]): FiledMessage[] {
  const counts = new Map<string, number>()
  const kept = messages.toReversed().filter(({ organization, identifier }) => {
    const device = `${organization} ${identifier}`
    const count = (counts.get(device) ?? 0) + 1
    counts.set(device, count)
    return count <= FILED_MAX
  })
  return kept.reverse()
}

/** Files messages, which come in their order, cut to a bounded length; what was filed before of their devices goes where it is too much. */
export async function fileMessages(db: Queryable, messages: readonly FiledMessage[], now: Date): Promise<void> {
  if (messages.length === 0) return
  const filed = newestOfEach(messages)
  await db.run(file, [
    filed.map(each => each.organization),
    now,
    filed.map(each => storable(each.identifier)),
    filed.map(each => storable(each.operationId)),
    filed.map(each => each.reason),
    filed.map(each => storable(each.message)),
    FILED_MAX,
    GONE_MAX,
  ])
}

const forget = statement<unknown, [Date, number]>(
  'filed_messages_forget',
  `delete from filed_message
    where ctid = any(array(select ctid from filed_message where received_at < $1 order by received_at limit $2 for update skip locked))`,
)

/** Forgets up to `limit` messages older than an instant, the oldest first; answers how many. */
export function forgetFiledMessages(db: Queryable, before: Date, limit: number): Promise<number> {
  return db.count(forget, [before, limit])
}
