/** What failed logins have used up, for all nodes alike. Whether another may be tried is not decided here. */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** Of one account or address; `key` is a hash of it. */
export interface LoginTry {
  readonly key: Buffer
  readonly everyMs: number
}

type Rested = { key: Buffer; restedAt: Date }

const read = statement<Rested, [Buffer[]]>(
  'login_budget_read',
  'select key, rested_at as "restedAt" from login_budget where key = any($1::bytea[])',
)
const take = statement<Rested, [Buffer[], number[], Date]>(
  'login_budget_take',
  `insert into login_budget as b (key, rested_at)
   select i.key, $3::timestamptz + i.every_ms * interval '1 millisecond'
     from unnest($1::bytea[], $2::int[]) as i(key, every_ms)
    order by i.key
   on conflict (key) do update
      set rested_at = greatest(b.rested_at, $3::timestamptz) + (excluded.rested_at - $3::timestamptz)
   returning key, rested_at as "restedAt"`,
)
const giveBack = statement<unknown, [Buffer[], number[]]>(
  'login_budget_give_back',
  `update login_budget b set rested_at = b.rested_at - i.every_ms * interval '1 millisecond'
     from unnest($1::bytea[], $2::int[]) as i(key, every_ms)
    where b.key = i.key`,
)
const forget = statement<unknown, [Date]>('login_budget_forget', 'delete from login_budget where rested_at <= $1')

const restedMs = (rows: readonly Rested[], { key }: LoginTry) =>
  rows.find(row => row.key.equals(key))?.restedAt.getTime() ?? 0

/** When each is rested, epoch ms; 0 for one of which nothing is known. */
export async function readLoginBudget(db: Queryable, tries: readonly LoginTry[]): Promise<number[]> {
  const rows = await db.run(read, [tries.map(({ key }) => key)])
  return tries.map(each => restedMs(rows, each))
}

/** Counts a try of each; answers when each would have been rested without it. Holds them until the transaction ends. */
export async function takeLoginTries(tx: Queryable, tries: readonly LoginTry[], now: Date): Promise<number[]> {
  const rows = await tx.run(take, [tries.map(({ key }) => key), tries.map(({ everyMs }) => everyMs), now])
  return tries.map(each => restedMs(rows, each) - each.everyMs)
}

/** Takes a try of each back: it was no failure. */
export async function giveLoginTriesBack(tx: Queryable, tries: readonly LoginTry[]): Promise<void> {
  await tx.run(giveBack, [tries.map(({ key }) => key), tries.map(({ everyMs }) => everyMs)])
}

/** Forgets what is rested by now, which says no more than nothing does. */
export async function forgetRestedLogins(db: Queryable, now: Date): Promise<void> {
  await db.run(forget, [now])
}
