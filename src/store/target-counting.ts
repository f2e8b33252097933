/** Counts what a target selects, set-based, without making anything of it. Refuses to decide what is asked for. */
import type { Queryable } from './database.ts'
import { type SqlFragment, sql } from './statement.ts'
import { type Applicability, appliesTo } from './targets.ts'

/** Entities of one type that a target selects and the operation type applies to. */
export interface CountedType {
  resourceType: string
  count: number
}

/** How many applicable entities of an organization a condition over `entity e` selects, by entity type. */
export function countSelected(
  db: Queryable,
  organization: number,
  condition: SqlFragment,
  applicable: Applicability,
): Promise<CountedType[]> {
  return db.query(sql`
    select e.resource_type as "resourceType", count(*)::int as count from entity e
     where e.organization = ${organization} and ${appliesTo(applicable)} and (${condition}) group by 1 order by 1`)
}

/** One group of those entities by what their subscription last collected as `cellInfo`; `groups` is the number of all. */
export interface CountedGroup {
  value: string | null
  operations: number
  groups: number
}

/** The groups in the order of the ranking, at most `limit`. */
export function countGroups(
  db: Queryable,
  organization: number,
  condition: SqlFragment,
  applicable: Applicability,
  limit: number,
): Promise<CountedGroup[]> {
  return db.query(sql`
    select e.cell_info collate "C" as value, count(*)::int as operations, (count(*) over ())::int as groups from entity e
     where e.organization = ${organization} and ${appliesTo(applicable)} and (${condition})
     group by 1 order by 1 nulls last limit ${limit}`)
}

/** Entities that a condition selects and the operation type does not apply to: the first identifiers, and how many in all. */
export async function findInapplicable(
  db: Queryable,
  organization: number,
  condition: SqlFragment,
  applicable: Applicability,
  limit: number,
): Promise<{ readonly ids: readonly string[]; readonly count: number }> {
  const rows = await db.query<{ identifier: string; count: number }>(sql`
    select e.identifier, (count(*) over ())::int as count from entity e
     where e.organization = ${organization} and not (${appliesTo(applicable)}) and (${condition})
     order by e.identifier limit ${limit}`)
  return { ids: rows.map(row => row.identifier), count: rows[0]?.count ?? 0 }
}

/** Those of the identifiers that an organization has. */
export async function findProvisioned(
  db: Queryable,
  organization: number,
  condition: SqlFragment,
): Promise<Set<string>> {
  const rows = await db.query<{ identifier: string }>(sql`
    select e.identifier from entity e where e.organization = ${organization} and (${condition})`)
  return new Set(rows.map(row => row.identifier))
}

/** The condition, over `entity e`, of a list of identifiers. */
export function listCondition(identifiers: readonly string[]): SqlFragment {
  return sql`e.identifier = any(${[...identifiers]}::text[])`
}
