/**
 * The searches of entities, of every kind and of one. Their rows are entities in the form of their GET, with what they collected last.
 * Serves: Job and operation search.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { EntityBody, FlattenedQuery } from '../contract/entity.ts'
import { PageView } from '../contract/operation.ts'
import { SearchQuery } from '../contract/search.ts'
import type { ResourceType } from '../domain/data-model.ts'
import { flattenedForm, nestedForm } from '../domain/entity-answer.ts'
import type { Database } from '../store/database.ts'
import { datastreamsOf } from '../store/datastreams.ts'
import { type EntityKey, readEntitiesAmong } from '../store/entities.ts'
import { entityTable } from '../store/entity-table.ts'
import { type Searched, searchRoute } from './search.ts'

const PATHS: readonly (readonly [path: string, name: string, resourceType?: ResourceType])[] = [
  ['/search/entities', 'entities'],
  ['/search/devices', 'devices', 'entity.device'],
  ['/search/entities/devices', 'devices', 'entity.device'],
  ['/search/entities/assets', 'entities', 'entity.asset'],
  ['/search/entities/subscribers', 'entities', 'entity.subscriber'],
  ['/search/entities/subscriptions', 'entities', 'entity.subscription'],
  ['/search/entities/communicationsModules', 'entities', 'entity.commsModule'],
]

/** Registers the searches of entities. */
export function searchEntityRoutes(app: FastifyInstance, { database }: { readonly database: Database }): void {
  for (const [path, name, resourceType] of PATHS)
    searchRoute(app, database, path, entities(database, name, resourceType))
}

function entities(database: Database, name: string, resourceType?: ResourceType): Searched<EntityKey> {
  return {
    name,
    answer: Type.Object({ page: PageView, [name]: Type.Array(EntityBody) }),
    query: Type.Object({ ...SearchQuery.properties, ...FlattenedQuery.properties }),
    table: async ({ organization }) =>
      entityTable(organization, await datastreamsOf(database, organization), resourceType),
    async rows(db, keys, request) {
      const form = isFlattened(request) ? flattenedForm : nestedForm
      return (await readEntitiesAmong(db, keys)).map(entity => form(entity, entity.collected))
    },
    summary: {
      resourceType: 'resourceType',
      channel: 'provision.administration.channel',
      serviceGroup: 'provision.administration.serviceGroup',
    },
  }
}

function isFlattened({ query }: FastifyRequest): boolean {
  return String((query as { flattened?: unknown }).flattened) === 'true'
}
