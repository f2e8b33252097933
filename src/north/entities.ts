/**
 * The routes of entities: create, read, replace, patch, delete, and the keys of devices, each kind under its own word and all of them
 * under `entities`. Serves: Authentication and device-side endpoints (provisioning).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import './request-caller.ts'
import { EntityBody, FlattenedQuery } from '../contract/entity.ts'
import type { ResourceType } from '../domain/data-model.ts'
import { flattenedForm, nestedForm } from '../domain/entity-answer.ts'
import { readEntityForm } from '../domain/entity-form.ts'
import { refusalOf } from '../domain/refusal.ts'
import { type Entities, type EntityAction, type EntityOutcome, notExists } from '../engine/entities.ts'
import type { Database } from '../store/database.ts'
import { readEntities } from '../store/entities.ts'

export interface EntityRoutesParts {
  readonly database: Database
  readonly entities: Entities
}

/** The words of the addresses, and the kind that each is of; `entities` is of every kind. */
const WORDS: Readonly<Record<string, ResourceType | undefined>> = {
  devices: 'entity.device',
  assets: 'entity.asset',
  subscriptions: 'entity.subscription',
  subscribers: 'entity.subscriber',
  communicationsModules: 'entity.commsModule',
  entities: undefined,
}

const tags = ['entities']
const base = '/provision/organizations/:organization'
const owner = { organization: Type.String() }
const params = Type.Object({ ...owner, identifier: Type.String() })
const config = { access: 'manageDevices' } as const
const nothing = (description: string) => Type.Null({ description })

/** Registers the routes, under whatever prefix the instance has. */
export function entityRoutes(app: FastifyInstance, parts: EntityRoutesParts): void {
  for (const [word, resourceType] of Object.entries(WORDS)) kindRoutes(app, parts, `${base}/${word}`, resourceType)
  keyRoutes(app, parts)
}

function kindRoutes(
  app: FastifyInstance,
  { database, entities }: EntityRoutesParts,
  path: string,
  resourceType: ResourceType | undefined,
): void {
  const kind = resourceType?.slice('entity.'.length) ?? 'entity'
  const wanted = resourceType === undefined ? {} : { resourceType }

  async function write(action: EntityAction, request: FastifyRequest, identifier?: string): Promise<Done> {
    const said = readEntityForm(action === 'DELETE' ? {} : request.body, isFlattened(request))
    if (!said.ok) throw refusalOf(said.problems)
    const [outcome] = await entities.write(request.caller, action, [
      { said: said.value, ...wanted, ...(identifier !== undefined && { identifier }) },
    ])
    if (!outcome!.ok) throw outcome!.error
    return outcome!
  }

  app.post(
    path,
    {
      config,
      schema: {
        tags,
        summary: `Create an entity: ${kind}`,
        description: 'Creating a device answers its API key in the header X-ApiKey, once.',
        params: Type.Object(owner),
        querystring: FlattenedQuery,
        body: EntityBody,
        response: { 201: nothing('Created, at the address in location') },
      },
    },
    async (request, reply) => {
      const { identifier, apiKey } = await write('CREATE', request)
      if (apiKey !== undefined) reply.header('x-apikey', apiKey)
      return reply
        .status(201)
        .header('location', `${request.url.split('?')[0]}/${encodeURIComponent(identifier)}`)
        .send()
    },
  )

  app.get(
    `${path}/:identifier`,
    {
      schema: {
        tags,
        summary: `Read an entity: ${kind}`,
        params,
        querystring: FlattenedQuery,
        response: { 200: EntityBody },
      },
    },
    async request => {
      const { identifier } = request.params as Named
      const [entity] = await readEntities(database, request.caller.organization, [identifier])
      if (!entity || (resourceType !== undefined && entity.resourceType !== resourceType)) throw notExists(identifier)
      return isFlattened(request) ? flattenedForm(entity) : nestedForm(entity)
    },
  )

  for (const [method, action, summary] of CHANGES) {
    app.route({
      method,
      url: `${path}/:identifier`,
      config,
      schema: {
        tags,
        summary: `${summary}: ${kind}`,
        params,
        querystring: FlattenedQuery,
        ...(action !== 'DELETE' && { body: EntityBody }),
        response: { 200: nothing('Done') },
      },
      handler: async (request, reply) => {
        await write(action, request, (request.params as Named).identifier)
        return reply.status(200).send()
      },
    })
  }
}

const CHANGES = [
  ['PUT', 'UPDATE', 'Replace an entity'],
  ['PATCH', 'PATCH', 'Change some values of an entity; null removes one'],
  ['DELETE', 'DELETE', 'Delete an entity and end what runs on it'],
] as const

type Named = { readonly identifier: string }
type Done = Extract<EntityOutcome, { readonly ok: true }>

function isFlattened({ query }: FastifyRequest): boolean {
  return (query as FlattenedQuery).flattened === true
}

/** A device's key is told when it is made, and by no other call. */
function keyRoutes(app: FastifyInstance, { entities }: EntityRoutesParts): void {
  const path = `${base}/devices/:identifier/key`
  app.post(
    path,
    {
      config,
      schema: {
        tags,
        summary: 'Give a device a new API key',
        description: 'The key stands in the header X-ApiKey of the answer; the old one ends.',
        params,
        response: { 201: nothing('Made') },
      },
    },
    async (request, reply) => {
      const key = await entities.renewKey(request.caller.organization, (request.params as Named).identifier)
      return reply.status(201).header('x-apikey', key).send()
    },
  )
  app.delete(
    path,
    { config, schema: { tags, summary: 'Take a device its API key', params, response: { 200: nothing('Taken') } } },
    async (request, reply) => {
      await entities.revokeKey(request.caller.organization, (request.params as Named).identifier)
      return reply.status(200).send()
    },
  )
}
