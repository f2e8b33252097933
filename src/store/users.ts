/** Users as rows, with the name of their organization. Passwords are hashes and keys are sealed before they come here. */
import type { Profile } from '../domain/caller.ts'
import type { User, UserDocument } from '../domain/user.ts'
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** A user with what proves it. */
export interface StoredUser extends User {
  readonly passwordHash: string
  readonly apiKeySealed: Buffer
}

const columns = `u.email, u.organization, o.name as "organizationName", u.profile, u.document,
  u.password_hash as "passwordHash", u.api_key_sealed as "apiKeySealed"`

const byEmail = statement<StoredUser, [string]>(
  'user_by_email',
  `select ${columns} from users u join organization o using (organization) where lower(u.email) = lower($1)`,
)
const byEmailLocked = statement<StoredUser, [string]>(
  'user_by_email_locked',
  `select ${columns} from users u join organization o using (organization) where lower(u.email) = lower($1)
      for no key update of u`,
)
const byKey = statement<StoredUser, [Buffer]>(
  'user_by_key',
  `select ${columns} from users u join organization o using (organization) where u.api_key_hash = $1`,
)
const among = statement<StoredUser, [readonly string[]]>(
  'user_among',
  `select ${columns} from users u join organization o using (organization) where u.email = any($1::text[])`,
)
const insert = statement<unknown, [string, number, Profile, string, Buffer, Buffer, UserDocument, Date]>(
  'user_insert',
  `insert into users (email, organization, profile, password_hash, api_key_hash, api_key_sealed, document, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
)
const update = statement<unknown, [string, Profile, string, UserDocument]>(
  'user_update',
  'update users set profile = $2, password_hash = $3, document = $4 where email = $1',
)
const updateKey = statement<unknown, [string, Buffer, Buffer]>(
  'user_update_key',
  `update users set api_key_hash = $2, api_key_sealed = $3 where email = $1
      and not exists (select from users other where other.api_key_hash = $2 and other.email <> $1)`,
)
const remove = statement<unknown, [string]>('user_remove', 'delete from users where email = $1')
const removeAll = statement<unknown, [number]>('user_remove_all', 'delete from users where organization = $1')
const lockOfProfile = statement<{ email: string }, [Profile]>(
  'user_lock_of_profile',
  'select email from users where profile = $1 order by email for update',
)
const any = statement<{ found: boolean }, []>('user_any', 'select exists (select from users) as found')

/** By email, whatever its case. */
export async function readUser(db: Queryable, email: string): Promise<StoredUser | undefined> {
  return (await db.run(byEmail, [email]))[0]
}

/** Users by their emails as stored, in that order. */
export async function readUsersAmong(db: Queryable, emails: readonly string[]): Promise<StoredUser[]> {
  const rows = new Map((await db.run(among, [emails])).map(row => [row.email, row]))
  return emails.flatMap(email => rows.get(email) ?? [])
}

/** The same, held until the transaction ends. */
export async function lockUser(db: Queryable, email: string): Promise<StoredUser | undefined> {
  return (await db.run(byEmailLocked, [email]))[0]
}

/** By the keyed hash of its API key. */
export async function readUserByKey(db: Queryable, keyHash: Buffer): Promise<StoredUser | undefined> {
  return (await db.run(byKey, [keyHash]))[0]
}

export interface NewUser {
  readonly email: string
  readonly organization: number
  readonly profile: Profile
  readonly passwordHash: string
  readonly apiKeyHash: Buffer
  readonly apiKeySealed: Buffer
  readonly document: UserDocument
}

/** Answers false where the email, in any case, or the key is taken. */
export async function insertUser(db: Queryable, user: NewUser, now: Date): Promise<boolean> {
  const { email, organization, profile, passwordHash, apiKeyHash, apiKeySealed, document } = user
  const row = [email, organization, profile, passwordHash, apiKeyHash, apiKeySealed, document, now] as const
  return (await db.count(insert, [...row])) > 0
}

export async function updateUser(db: Queryable, user: StoredUser): Promise<void> {
  await db.count(update, [user.email, user.profile, user.passwordHash, user.document])
}

/** Answers false where the key is another user's. */
export async function updateUserKey(
  db: Queryable,
  email: string,
  keyHash: Buffer,
  keySealed: Buffer,
): Promise<boolean> {
  return (await db.count(updateKey, [email, keyHash, keySealed])) > 0
}

export async function removeUser(db: Queryable, email: string): Promise<boolean> {
  return (await db.count(remove, [email])) > 0
}

export async function removeUsersOf(db: Queryable, organization: number): Promise<void> {
  await db.count(removeAll, [organization])
}

/** The emails of all users of a profile, held until the transaction ends: none can come to be the last unseen. */
export async function lockUsersOfProfile(db: Queryable, profile: Profile): Promise<string[]> {
  return (await db.run(lockOfProfile, [profile])).map(({ email }) => email)
}

/** Whether there is any user at all. */
export async function anyUser(db: Queryable): Promise<boolean> {
  return (await db.run(any, []))[0]?.found ?? false
}
