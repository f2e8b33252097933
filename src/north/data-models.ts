/**
 * The routes of the data model: what can be provisioned of each kind of entity, and the basic types that clients look up beside it.
 * Serves: Authentication and device-side endpoints (provisioning).
 */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import './request-caller.ts'
import { DataModelView } from '../contract/data-model.ts'
import { PageView } from '../contract/operation.ts'
import { DATA_MODEL, RESOURCE_TYPES, type ResourceType, schemaOf } from '../domain/data-model.ts'
import { type DataModelKey, dataModelTable } from '../store/data-model-table.ts'
import type { Database } from '../store/database.ts'
import { searchRoute } from './search.ts'

/** Registers the search of data models and the document of basic types. */
export function dataModelRoutes(app: FastifyInstance, { database }: { readonly database: Database }): void {
  searchRoute<DataModelKey>(app, database, '/search/datamodels', {
    name: 'datamodels',
    answer: Type.Object({ page: PageView, datamodels: Type.Array(DataModelView) }),
    table: ({ organizationName }) => dataModelTable(dataModelsOf(organizationName)),
    async rows(_db, keys, { caller }) {
      const models = dataModelsOf(caller.organizationName)
      return keys.map(({ place }) => models[place])
    },
    summary: { identifier: 'datamodels.identifier' },
  })

  app.get(
    '/resources/schemaTypes/og_basic_types',
    {
      schema: {
        tags: ['search'],
        summary: 'The basic types as a JSON Schema document',
        response: { 200: Type.Record(Type.String(), Type.Unknown()) },
      },
    },
    async () => BASIC_TYPES,
  )
}

/** One data model for each kind of entity. */
function dataModelsOf(organizationName: string): DataModelView[] {
  return RESOURCE_TYPES.map(type => ({
    identifier: type,
    name: type,
    version: '1.0',
    organizationName,
    allowedResourceTypes: [type],
    categories: categoriesOf(type),
  }))
}

function categoriesOf(type: ResourceType): DataModelView['categories'] {
  const entries = DATA_MODEL.filter(
    ({ id, resourceTypes }) => id.startsWith('provision.') && resourceTypes.includes(type),
  )
  return [...Map.groupBy(entries, ({ category }) => category)].map(([category, own]) => ({
    identifier: category,
    name: category,
    datastreams: own.map(({ id, name, type }) => ({ identifier: id, name, calculated: false, schema: schemaOf(type) })),
  }))
}

const BASIC_TYPES = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'og_basic_types',
  definitions: {
    string: { type: 'string' },
    number: { type: 'number' },
    integer: { type: 'integer' },
    boolean: { type: 'boolean' },
    date: { type: 'string', format: 'date' },
    dateTime: { type: 'string', format: 'date-time' },
    uri: { type: 'string', format: 'uri' },
    coordinates: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 3 },
  },
}
