/** Organizations as rows. What they hold goes with them as far as the schema says; the rest is for the engine to close. */
import type { Organization, OrganizationDocument } from '../domain/organization.ts'
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

const read = statement<Organization, [string]>(
  'organization_read',
  'select organization, name, document from organization where name = $1',
)
const lock = statement<Organization, [string]>(
  'organization_lock',
  'select organization, name, document from organization where name = $1 for update',
)
const among = statement<Organization, [readonly number[]]>(
  'organization_among',
  'select organization, name, document from organization where organization = any($1::int[])',
)
const insert = statement<{ organization: number }, [string, OrganizationDocument, Date]>(
  'organization_insert',
  `insert into organization (name, document, created_at) values ($1, $2, $3) on conflict do nothing
   returning organization`,
)
const update = statement<unknown, [number, OrganizationDocument]>(
  'organization_update',
  'update organization set document = $2 where organization = $1',
)
const remove = statement<unknown, [number]>('organization_remove', 'delete from organization where organization = $1')

export async function readOrganization(db: Queryable, name: string): Promise<Organization | undefined> {
  return (await db.run(read, [name]))[0]
}

/** Organizations by their numbers, in that order. */
export async function readOrganizationsAmong(db: Queryable, organizations: readonly number[]): Promise<Organization[]> {
  const rows = new Map((await db.run(among, [organizations])).map(row => [row.organization, row]))
  return organizations.flatMap(organization => rows.get(organization) ?? [])
}

/** The same, held until the transaction ends. */
export async function lockOrganization(db: Queryable, name: string): Promise<Organization | undefined> {
  return (await db.run(lock, [name]))[0]
}

/** Answers the number of the new organization, or undefined where the name is taken. */
export async function insertOrganization(
  db: Queryable,
  name: string,
  document: OrganizationDocument,
  now: Date,
): Promise<number | undefined> {
  return (await db.run(insert, [name, document, now]))[0]?.organization
}

export async function updateOrganization(
  db: Queryable,
  organization: number,
  document: OrganizationDocument,
): Promise<void> {
  await db.count(update, [organization, document])
}

export async function removeOrganization(db: Queryable, organization: number): Promise<void> {
  await db.count(remove, [organization])
}
