/** Few named texts that belong to the whole service. Refuses to know what they mean. */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

const insert = statement<unknown, [string, string]>(
  'setting_insert',
  'insert into setting (name, value) values ($1, $2) on conflict do nothing',
)
const read = statement<{ value: string }, [string]>('setting_read', 'select value from setting where name = $1')
const lock = statement<{ value: string }, [string]>(
  'setting_lock',
  'select value from setting where name = $1 for update',
)
const remove = statement<unknown, [string]>('setting_remove', 'delete from setting where name = $1')

/** The value that stands, or undefined. */
async function readSetting(db: Queryable, name: string): Promise<string | undefined> {
  const [row] = await db.run(read, [name])
  return row?.value
}

/** The value that stands after this call: the one given, where there was none. Of twenty callers at once one decides. */
export async function settle(db: Queryable, name: string, value: string): Promise<string> {
  await db.count(insert, [name, value])
  const standing = await readSetting(db, name)
  if (standing === undefined) throw new Error(`The setting ${name} was removed while it was made`)
  return standing
}

/** The value, held for this transaction: whoever comes second waits, then finds what the first has left. */
export async function lockSetting(db: Queryable, name: string): Promise<string | undefined> {
  const [row] = await db.run(lock, [name])
  return row?.value
}

/** Removes a setting; without one it does nothing. */
export async function removeSetting(db: Queryable, name: string): Promise<void> {
  await db.count(remove, [name])
}
