/**
 * What entities can be filtered by, over `entity e`: every id of the data model, and every id that the organization has provisioned
 * or collected. Refuses to read filters. Serves: Target (`filter`), Job and operation search (field names).
 */
import { dataModelEntry, IDENTIFIER_IDS, IDS } from '../domain/data-model.ts'
import type { FilterValue } from '../domain/filter.ts'
import type { FilterColumn } from './filter-sql.ts'
import { type SqlFragment, sql } from './statement.ts'

/** Values looked for by the index of documents; more of them are compared one by one. */
const INDEXED_VALUES_MAX = 10

const isList = (id: string) => id.includes('[]')

/** Whether some element of a list in the document meets a condition over `element`. */
const someElement = (id: string) => (condition: SqlFragment) =>
  sql`exists (select from jsonb_array_elements(case jsonb_typeof(e.document -> ${id}::text) when 'array' then e.document -> ${id}::text
                                               else '[]' end) element where ${condition})`

/** The document contains one of the values, in words that its index understands. */
function documentHolds(id: string, values: readonly FilterValue[]): SqlFragment {
  const held = (value: FilterValue) => JSON.stringify({ [id]: isList(id) ? [{ value }] : value })
  const parts = values.map(value => sql`e.document @> ${held(value)}::jsonb`)
  return parts.length === 0 ? sql`false` : sql`(${sql.join(parts, sql` or `)})`
}

/** A value of the document: of the data model, or one that only this organization has. */
function documentColumn(id: string, type: 'text' | 'any'): FilterColumn {
  const anyOf = (values: readonly FilterValue[]): SqlFragment => {
    const alternatives = type === 'any' ? values.flatMap(asWritten) : values
    if (alternatives.length <= INDEXED_VALUES_MAX) return documentHolds(id, alternatives)
    const texts = values.map(String)
    if (!isList(id)) return sql`e.document ->> ${id}::text = any(${texts}::text[])`
    return someElement(id)(sql`element ->> 'value' = any(${texts}::text[])`)
  }
  if (isList(id)) {
    const value = type === 'text' ? sql`element ->> 'value'` : sql`element -> 'value'`
    return { type, value, some: someElement(id), anyOf }
  }
  const value = type === 'text' ? sql`e.document ->> ${id}::text` : sql`e.document -> ${id}::text`
  return { type, value, anyOf }
}

/** Clients write numbers and booleans as text, too. */
function asWritten(value: FilterValue): FilterValue[] {
  if (typeof value !== 'string') return [value]
  if (value === 'true' || value === 'false') return [value, value === 'true']
  return value.trim() !== '' && Number.isFinite(Number(value)) ? [value, Number(value)] : [value]
}

const identifier: FilterColumn = { type: 'text', value: sql`e.identifier` }

/** The own identifier of a kind of entity; of another kind the id may stand in its list. */
function ownIdentifier(id: string, resourceType: string): FilterColumn {
  const inDocument = documentColumn(id, 'text')
  return {
    ...inDocument,
    anyOf: values =>
      sql`(e.resource_type = ${resourceType} and e.identifier = any(${values.map(String)}::text[]) or ${inDocument.anyOf!(values)})`,
  }
}

const columns = new Map<string, FilterColumn>([
  [IDS.resourceType, { type: 'text', value: sql`e.resource_type` }],
  [IDS.identifier, identifier],
  [
    IDS.tags,
    {
      type: 'text',
      value: sql`tag`,
      some: condition => sql`exists (select from unnest(e.tags) tag where ${condition})`,
      anyOf: values => sql`e.tags && ${values.map(String)}::text[]`,
    },
  ],
  [
    'tag',
    {
      type: 'text',
      value: sql`tag`,
      some: condition => sql`exists (select from unnest(e.tags) tag where ${condition})`,
    },
  ],
  ...Object.entries(IDENTIFIER_IDS).map(([type, id]) => [id, ownIdentifier(id, type)] as const),
])

/** The column of an id; `known` are the ids beside the data model that the organization has. Undefined where there is no such id. */
export function entityColumn(id: string, known: ReadonlySet<string>): FilterColumn | undefined {
  const column = columns.get(id)
  if (column) return column
  const entry = dataModelEntry(id)
  if (entry) return documentColumn(id, entry.type === 'text' || entry.type === 'url' ? 'text' : 'any')
  if (!known.has(id)) return undefined
  return {
    type: 'any',
    value: sql`coalesce(e.collected -> ${id}::text -> 'value', e.document -> ${id}::text)`,
  }
}
