/**
 * Entities as they travel: provisioned one by one or in bulk, and read. The reader of the domain is the judge of the bodies; these
 * schemas tell clients the same. Serves: Authentication and device-side endpoints (provisioning).
 */
import { type Static, Type } from 'typebox'

/** The kinds of a bulk provisioning's rows. */
const BULK_ACTIONS = ['CREATE', 'UPDATE', 'PATCH', 'DELETE'] as const

/** Whether ids stand flat, as members of one object, or nested, as a tree. */
export const FlattenedQuery = Type.Object({
  flattened: Type.Optional(
    Type.Boolean({ description: 'true: a map from id to value box; else the same tree as nested objects' }),
  ),
})
export type FlattenedQuery = Static<typeof FlattenedQuery>

/** An entity in either form. Plain values may stand for boxes; ids that the data model does not name are kept. */
export const EntityBody = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Values by id, each in its box or plain; an id with `[]` has an array with an `_index` in each element',
  examples: [
    {
      'provision.device.identifier': { _value: { _current: { value: 'd1' } } },
      'provision.administration.channel': { _value: { _current: { value: 'default_channel' } } },
    },
  ],
})
export type EntityBody = Static<typeof EntityBody>

export const BulkQuery = Type.Object({
  action: Type.Enum([...BULK_ACTIONS], { description: 'What is done with every row' }),
  flattened: FlattenedQuery.properties.flattened,
})
export type BulkQuery = Static<typeof BulkQuery>

/** The body as JSON; as CSV the first line names ids and each further one is an entity. */
export const BulkBody = Type.Object({ entities: Type.Array(EntityBody) })

/** What became of one row. */
export const BulkRow = Type.Object({
  identifier: Type.Optional(Type.String()),
  statusCode: Type.Integer({ examples: [201] }),
  location: Type.Optional(Type.String()),
  apiKey: Type.Optional(Type.String({ description: 'The key of a device that was created, here and never again' })),
  errors: Type.Optional(
    Type.Array(
      Type.Object({
        code: Type.String(),
        message: Type.String(),
        context: Type.Optional(Type.Array(Type.Object({ name: Type.String(), value: Type.Optional(Type.Unknown()) }))),
      }),
    ),
  ),
})
export type BulkRow = Static<typeof BulkRow>

/** The rows in the order of the body. `errors` stands there where the body itself was at fault after these rows. */
export const BulkAnswer = Type.Object({
  total: Type.Integer(),
  failed: Type.Integer(),
  entities: Type.Array(BulkRow),
  errors: BulkRow.properties.errors,
})
export type BulkAnswer = Static<typeof BulkAnswer>
