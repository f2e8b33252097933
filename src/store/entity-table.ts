/**
 * Entities as a table that can be searched. It runs nothing. Serves: Target (`filter`), Job and operation search.
 */
import { DATA_MODEL, type ResourceType } from '../domain/data-model.ts'
import type { EntityKey } from './entities.ts'
import { datastreamField, ENTITY_FIELDS } from './entity-fields.ts'
import { fieldTable } from './search-field.ts'
import { int2, int8, type KeyOrder, type SearchTable } from './search-table.ts'
import { sql } from './statement.ts'

const fields = fieldTable(ENTITY_FIELDS)

/** Of the ids beside the data model, those that a row of CSV shows unasked. */
const SHOWN_MAX = 500

/** No field leads to it: it is the order of rows that are not sorted. */
const BY_NUMBER: KeyOrder = {
  name: 'entity',
  columns: [int8('entity', sql`e.entity`), int2('partition', sql`e.partition`)],
  field: '',
}

/**
 * The entities of an organization, of one kind or of any, in the order in which they were made. `datastreams` are the ids that it
 * has beside the data model.
 */
export function entityTable(
  organization: number,
  datastreams: ReadonlySet<string>,
  resourceType?: ResourceType,
): SearchTable<EntityKey> {
  const own = new Set(
    DATA_MODEL.filter(entry => resourceType === undefined || entry.resourceTypes.includes(resourceType)).map(
      ({ id }) => id,
    ),
  )
  const shown = ENTITY_FIELDS.filter(({ path }) => path !== undefined && own.has(path))
  const ofType = resourceType === undefined ? sql`true` : sql`e.resource_type = ${resourceType}::text`
  return {
    find: name => fields.get(name) ?? (datastreams.has(name) ? datastreamField(name) : undefined),
    fields: [...shown, ...[...datastreams].slice(0, SHOWN_MAX).map(datastreamField)],
    from: () => sql`entity e`,
    scope: sql`e.organization = ${organization}::int and ${ofType}`,
    orders: [BY_NUMBER],
    orderFor: () => BY_NUMBER,
    among: keys =>
      sql`(e.partition, e.entity) in (
            select key.partition, key.entity
              from unnest(${keys.map(key => key.partition)}::smallint[], ${keys.map(key => key.entity)}::bigint[])
                     as key(partition, entity))`,
  }
}
