/**
 * The data model as clients read it: which values can be provisioned of which kind of entity. It says what travels and decides
 * nothing. Serves: Authentication and device-side endpoints (provisioning).
 */
import { type Static, Type } from 'typebox'

/** One id that can be provisioned. */
export const DatastreamView = Type.Object({
  identifier: Type.String({ examples: ['provision.device.identifier'] }),
  name: Type.String(),
  calculated: Type.Boolean(),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema of the value' }),
})

/** Everything that can be provisioned of one kind of entity. */
export const DataModelView = Type.Object({
  identifier: Type.String({ examples: ['entity.device'] }),
  name: Type.String(),
  version: Type.String(),
  organizationName: Type.String(),
  allowedResourceTypes: Type.Array(Type.String()),
  categories: Type.Array(
    Type.Object({ identifier: Type.String(), name: Type.String(), datastreams: Type.Array(DatastreamView) }),
  ),
})
export type DataModelView = Static<typeof DataModelView>
