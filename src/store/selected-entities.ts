/** What a target resolves to now, page by page, without making an operation of it. Serves: Endpoints (Tasks). */
import type { Queryable } from './database.ts'
import { type SqlFragment, sql } from './statement.ts'
import type { Applicability } from './targets.ts'

/** An entity as a target selects it. */
export interface SelectedEntity {
  readonly identifier: string
  readonly resourceType: string
}

/** Entities counted exactly; beyond, there are at least so many. */
const COUNT_MAX = 100_000

/**
 * The entities of an organization that a condition over `entity e` selects and an operation type applies to, in the order of their
 * kinds and identifiers; and how many there are.
 */
export async function readSelectedEntities(
  db: Queryable,
  organization: number,
  condition: SqlFragment,
  { resourceTypes, models }: Applicability,
  page: { readonly skip: number; readonly size: number },
): Promise<{ readonly entities: readonly SelectedEntity[]; readonly count: number }> {
  const selected = sql`from entity e where e.organization = ${organization}::int
     and e.resource_type = any(${resourceTypes}::text[]) and (${models.length === 0}::boolean or e.model = any(${models}::text[]))
     and (${condition})`
  const entities = await db.query<SelectedEntity>(sql`
    select e.identifier, e.resource_type as "resourceType" ${selected} order by e.resource_type, e.identifier
    offset ${page.skip}::bigint limit ${page.size}::int`)
  const [counted] = await db.query<{ count: number }>(sql`
    select count(*)::int as count from (select 1 ${selected} limit ${COUNT_MAX}::int) counted`)
  return { entities, count: counted?.count ?? 0 }
}

/** The condition that an entity is one of a list. */
export function listedCondition(identifiers: readonly string[], partitions: readonly number[]): SqlFragment {
  return sql`(e.partition, e.identifier) in (
    select asked.partition, asked.identifier from unnest(${partitions}::smallint[], ${identifiers}::text[]) as asked(partition, identifier))`
}
