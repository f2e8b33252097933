/**
 * Data models as a table that can be searched: they stand in no table of the database but are given, as JSON. It runs nothing.
 * Serves: Job and operation search (data models).
 */
import { type FieldTraits, field, fieldTable, type SearchField } from './search-field.ts'
import { int2, type KeyOrder, type SearchTable } from './search-table.ts'
import { sql } from './statement.ts'

/** A data model by its place among those given, from 0. */
export interface DataModelKey {
  readonly place: number
}

const BY_PLACE: KeyOrder = { name: 'place', columns: [int2('place', sql`(d.ordinality - 1)::smallint`)], field: '' }

/** Every element that the path leads to. */
function each(name: string, path: string): SearchField {
  const traits: FieldTraits = {
    some: condition =>
      sql`exists (select 1 from jsonb_path_query(d.model, ${path}::jsonpath) as element where ${condition})`,
    all: sql`jsonb_path_query_array(d.model, ${path}::jsonpath)`,
  }
  return field('any', `datamodels.${name}`, sql`element`, traits)
}

const FIELDS: readonly SearchField[] = [
  ...['identifier', 'name', 'version', 'organizationName'].map(name =>
    field('text', `datamodels.${name}`, sql`d.model ->> ${name}::text`, { path: name }),
  ),
  each('allowedResourceTypes', '$.allowedResourceTypes[*]'),
  each('categories.identifier', '$.categories[*].identifier'),
  each('categories.name', '$.categories[*].name'),
  each('categories.datastreams.identifier', '$.categories[*].datastreams[*].identifier'),
  each('categories.datastreams.name', '$.categories[*].datastreams[*].name'),
  each('categories.datastreams.calculated', '$.categories[*].datastreams[*].calculated'),
  each('categories.datastreams.schema.type', '$.categories[*].datastreams[*].schema.type'),
]

const fields = fieldTable(FIELDS)

/** The given data models, in the order given; field names may say `[]` behind a list. */
export function dataModelTable(models: readonly unknown[]): SearchTable<DataModelKey> {
  return {
    find: name => fields.get(name.replaceAll('[]', '')),
    fields: FIELDS,
    from: () => sql`jsonb_array_elements(${JSON.stringify(models)}::jsonb) with ordinality as d(model, ordinality)`,
    scope: sql`true`,
    orders: [BY_PLACE],
    orderFor: () => BY_PLACE,
    among: keys => sql`(d.ordinality - 1)::smallint = any(${keys.map(({ place }) => place)}::smallint[])`,
  }
}
