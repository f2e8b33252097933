/**
 * The one table of what entities can be searched and selected by: every id of the data model leads to a column or into the document, and
 * so does every other id that an organization has provisioned or collected. Over `entity e`. Serves: Target (`filter`), Job and
 * operation search.
 */
import { DATA_MODEL, type DataModelEntry, IDENTIFIER_IDS, IDS, RESOURCE_TYPES } from '../domain/data-model.ts'
import { isListId } from '../domain/entity-form.ts'
import type { FilterValue } from '../domain/filter.ts'
import { CONNECTION_FIELDS } from './connection-fields.ts'
import { type FieldTraits, field, type SearchField } from './search-field.ts'
import { type SqlFragment, sql } from './statement.ts'
import { UNSUCCESSFUL_IN } from './unsuccessful-in.ts'

/** Where the device is that a scattering groups by. */
const CELL = 'subscription.collected.cellInfo'

/** Other names under which clients know some ids. */
const ALIASES: Readonly<Record<string, string>> = {
  [IDS.identifier]: 'entityId',
  [IDS.organization]: 'organizationName',
  [IDS.tags]: 'tag',
  'provision.administration.channel': 'channelName',
  'provision.administration.serviceGroup': 'serviceGroupName',
}

const value = (id: string): SqlFragment => sql`e.document -> ${id}::text`

/** Equality by what the document contains, which its index answers. */
function contained(id: string, values: readonly FilterValue[]): SqlFragment {
  const needles = values.map(each => JSON.stringify({ [id]: isListId(id) ? [{ value: each }] : each }))
  return sql`e.document @> any(${needles}::jsonb[])`
}

/** The elements of a list. The condition is over `element`, each one's value as text. */
function elementsOf(id: string): FieldTraits {
  return {
    some: condition =>
      sql`exists (select 1 from (select item ->> 'value' as element from jsonb_array_elements(
                    case jsonb_typeof(${value(id)}) when 'array' then ${value(id)} end) as item) elements where ${condition})`,
    all: sql`(select jsonb_agg(item -> 'value') from jsonb_array_elements(
                case jsonb_typeof(${value(id)}) when 'array' then ${value(id)} end) as item)`,
    exists: sql`e.document ? ${id}`,
  }
}

/** The point in a GeoJSON geometry, at the top or under `position`. */
function pointIn(id: string): SqlFragment {
  const coordinates = sql`coalesce(e.document #> array[${id}, 'position', 'coordinates'], e.document #> array[${id}, 'coordinates'])`
  return sql`(select case when jsonb_typeof(c -> 0) = 'number' and jsonb_typeof(c -> 1) = 'number'
                          then point((c ->> 0)::float8, (c ->> 1)::float8) end from (select ${coordinates} as c) at)`
}

function modelField({ id, type }: DataModelEntry): SearchField {
  const names = ALIASES[id] === undefined ? id : `${id} ${ALIASES[id]}`
  const traits: FieldTraits = {
    path: id,
    indexed: true,
    anyOf: values => contained(id, values),
    exists: sql`e.document ? ${id}`,
  }
  if (isListId(id)) return field('text', names, sql`element`, { ...traits, ...elementsOf(id) })
  switch (type) {
    case 'texts':
      return field('text', names, sql`tag`, {
        ...traits,
        some: condition => sql`exists (select 1 from unnest(e.tags) as tag where ${condition})`,
        anyOf: values => sql`e.tags && ${values.map(String)}::text[]`,
        exists: sql`e.tags <> '{}'`,
        all: sql`nullif(to_jsonb(e.tags), '[]')`,
      })
    case 'object':
      return field('location', names, pointIn(id), { path: id, exists: sql`e.document ? ${id}`, all: value(id) })
    case 'model':
      return field('any', names, value(id), { ...traits, anyOf: values => modelIs(id, values) })
    default:
      return field('text', names, sql`e.document ->> ${id}::text`, traits)
  }
}

/** A model is known by its name, whether it is provisioned as a text or as an object. */
function modelIs(id: string, values: readonly FilterValue[]): SqlFragment {
  const needles = values.flatMap(each => [
    JSON.stringify({ [id]: String(each) }),
    JSON.stringify({ [id]: { name: String(each) } }),
  ])
  return sql`e.document @> any(${needles}::jsonb[])`
}

/** The identifier of a kind whose identifier is no list's: the column has it, and an index by kind. */
function identifierFields(): SearchField[] {
  return RESOURCE_TYPES.filter(type => !isListId(IDENTIFIER_IDS[type])).map(type => {
    const id = IDENTIFIER_IDS[type]
    const isOfType = sql`e.resource_type = ${type}`
    return field('text', id, sql`case when ${isOfType} then e.identifier end`, {
      path: id,
      indexed: true,
      anyOf: values => sql`(${isOfType} and e.identifier = any(${values.map(String)}::text[]))`,
      exists: isOfType,
    })
  })
}

function ownFields(): SearchField[] {
  const anyKind = sql`e.resource_type = any(${RESOURCE_TYPES}::text[])`
  return [
    field('text', IDS.resourceType, sql`e.resource_type`, { path: IDS.resourceType, indexed: true }),
    field('text', `${IDS.identifier} ${ALIASES[IDS.identifier]}`, sql`e.identifier`, {
      path: IDS.identifier,
      indexed: true,
      anyOf: values => sql`(${anyKind} and e.identifier = any(${values.map(String)}::text[]))`,
    }),
    ...identifierFields(),
    field('text', CELL, sql`e.cell_info`, { path: CELL }),
    UNSUCCESSFUL_IN,
    ...CONNECTION_FIELDS,
  ]
}

const own = ownFields()
const taken = new Set(own.flatMap(({ names }) => names))

/** The fields that every organization has, in the order of the data model. */
export const ENTITY_FIELDS: readonly SearchField[] = [
  ...own,
  ...DATA_MODEL.filter(({ id }) => !taken.has(id)).map(modelField),
]

/** An id beside the data model: what was provisioned under it, else what was collected. */
export function datastreamField(id: string): SearchField {
  const collected = sql`e.collected -> ${id}::text -> 'value'`
  if (!isListId(id)) return field('any', [id], sql`coalesce(${value(id)}, ${collected})`, { path: id })
  const all = sql`coalesce((select jsonb_agg(item -> 'value') from jsonb_array_elements(
                              case jsonb_typeof(${value(id)}) when 'array' then ${value(id)} end) as item), ${collected})`
  return field('any', [id], sql`element`, {
    path: id,
    some: condition =>
      sql`exists (select 1 from jsonb_array_elements(case jsonb_typeof(${all}) when 'array' then ${all} end) as element
                   where ${condition})`,
    all,
  })
}
