/** Which request made which job under a client's key, for a day. Serves: `Idempotency-Key`. */
import type { Caller } from '../domain/caller.ts'
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

const find = statement<{ job: bigint; requestHash: string }, [number, string, string, Date]>(
  'idempotency_find',
  `select job, request_hash as "requestHash" from idempotency_key
    where organization = $1 and user_email = $2 and key = $3 and created_at > $4`,
)
const keep = statement<unknown, [number, string, string, string, bigint, Date]>(
  'idempotency_keep',
  `insert into idempotency_key as i (organization, user_email, key, request_hash, job, created_at)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (organization, user_email, key) do update
      set request_hash = excluded.request_hash, job = excluded.job, created_at = excluded.created_at`,
)
const lock = statement<unknown, [string]>('idempotency_lock', 'select pg_advisory_xact_lock(hashtextextended($1, 0))')
const forget = statement<unknown, [Date, number]>(
  'idempotency_forget',
  `delete from idempotency_key
    where ctid = any(array(select ctid from idempotency_key where created_at < $1 order by created_at limit $2 for update skip locked))`,
)

/** The job that a key made since an instant. Holds the key until the transaction ends, so that two at once make one job. */
export async function findIdempotent(
  tx: Queryable,
  caller: Caller,
  key: string,
  since: Date,
): Promise<{ job: bigint; requestHash: string } | undefined> {
  await tx.run(lock, [`${caller.organization}/${caller.email}/${key}`])
  return (await tx.run(find, [caller.organization, caller.email, key, since]))[0]
}

/** Keeps which job a key made. */
export async function keepIdempotent(
  tx: Queryable,
  caller: Caller,
  key: string,
  requestHash: string,
  job: bigint,
  now: Date,
): Promise<void> {
  await tx.run(keep, [caller.organization, caller.email, key, requestHash, job, now])
}

/** Forgets up to `limit` keys older than an instant, the oldest first; answers how many. */
export function forgetIdempotent(db: Queryable, before: Date, limit: number): Promise<number> {
  return db.count(forget, [before, limit])
}
