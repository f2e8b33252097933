/** Messages that changed nothing, kept for the people who look. Refuses to interpret them. */
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

const file = statement<unknown, [number[], Date, string[], string[], string[], string[]]>(
  'filed_messages_file',
  `insert into filed_message (organization, received_at, identifier, operation_id, reason, message)
   select i.organization, $2, i.identifier, i.operation_id, i.reason, i.message
     from unnest($1::int[], $3::text[], $4::text[], $5::text[], $6::text[])
       as i(organization, identifier, operation_id, reason, message)`,
)

const storable = (text: string) => cutText(text, CHARACTERS_MAX)

/** Files messages, cut to a bounded length. */
export async function fileMessages(db: Queryable, messages: readonly FiledMessage[], now: Date): Promise<void> {
  if (messages.length === 0) return
  await db.run(file, [
    messages.map(each => each.organization),
    now,
    messages.map(each => storable(each.identifier)),
    messages.map(each => storable(each.operationId)),
    messages.map(each => each.reason),
    messages.map(each => storable(each.message)),
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
