/** The salts that keep the numbers of processes apart: at most one row each, never deleted. Refuses to know what is numbered. */
import type { Queryable, Transaction } from './database.ts'
import { statement } from './statement.ts'

// Nodes of a build before this table have the low bits of their own number for a salt.
const take = statement<{ salt: number }, [number, Date, Date]>(
  'number_salts_take',
  `insert into number_salt as taken (salt, node, kept_at)
   select free.salt, $1, $2 from (
     select g.salt from generate_series(0, 1023) as g(salt) left join number_salt s on s.salt = g.salt
      where (s.kept_at is null or s.kept_at < $3)
        and not exists (select from node n where n.node & 1023 = g.salt and n.heartbeat_at >= $3)
      order by s.kept_at nulls first, g.salt limit 1) as free
   on conflict (salt) do update set node = excluded.node, kept_at = excluded.kept_at
   returning salt`,
)
/** Those who take at once take one after the other, so that none is taken twice. */
const lock = statement<unknown, []>('number_salts_lock', 'select pg_advisory_xact_lock(376838)')

/**
 * Takes the salt that has been out of use longest, for a node, as of `now`: one that nobody has kept since `freeBefore`. Undefined where
 * there is none.
 */
export async function takeSalt(
  tx: Transaction,
  node: number,
  now: Date,
  freeBefore: Date,
): Promise<number | undefined> {
  await tx.run(lock, [])
  return (await tx.run(take, [node, now, freeBefore]))[0]?.salt
}

const keep = statement<unknown, [number, number, Date]>(
  'number_salts_keep',
  'update number_salt set kept_at = $3 where salt = $1 and node = $2',
)

/** Says that a node still uses its salt. False where it is not its own any more. */
export async function keepSalt(db: Queryable, salt: number, node: number, now: Date): Promise<boolean> {
  return (await db.count(keep, [salt, node, now])) === 1
}
