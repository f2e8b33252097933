/**
 * The ids beside the data model that an organization has provisioned or collected. Refuses to hold their values.
 * Serves: Job and operation search (filter fields).
 */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** Ids that one organization's filters can know; further ones are kept on their entity, but no filter finds them. */
const DATASTREAMS_MAX = 10_000

const remember = statement<unknown, [number[], string[], number]>(
  'datastreams_remember',
  `insert into datastream (organization, id)
   select n.organization, n.id from unnest($1::int[], $2::text[]) as n(organization, id)
     join organization o on o.organization = n.organization
    where (select count(*) from datastream d where d.organization = n.organization) < $3
    order by n.organization, n.id
   on conflict do nothing`,
)

/** Adds ids to those that are known. */
export async function rememberDatastreams(
  db: Queryable,
  ids: readonly { readonly organization: number; readonly id: string }[],
): Promise<void> {
  if (ids.length === 0) return
  await db.run(remember, [ids.map(({ organization }) => organization), ids.map(({ id }) => id), DATASTREAMS_MAX])
}

const known = statement<{ id: string }, [number, readonly string[]]>(
  'datastreams_known',
  'select id from datastream where organization = $1 and id = any($2::text[])',
)

/** Those of the ids that the organization knows. */
export async function knownDatastreams(db: Queryable, organization: number, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  return (await db.run(known, [organization, ids])).map(({ id }) => id)
}

const all = statement<{ id: string }, [number]>(
  'datastreams_of_organization',
  'select id from datastream where organization = $1 order by id',
)

/** All that the organization knows, in order; a little over `DATASTREAMS_MAX` at the most. */
export async function datastreamsOf(db: Queryable, organization: number): Promise<Set<string>> {
  return new Set((await db.run(all, [organization])).map(({ id }) => id))
}
