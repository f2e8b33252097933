/**
 * What clients and the service say of operation types. Members that are not named here are refused. Serves: Operation type.
 */
import { type Static, Type } from 'typebox'
import { RESOURCE_TYPES } from '../domain/data-model.ts'
import { APPLICABLE_MAX, MODELS_MAX, STEPS_MAX, TYPE_NAME_MAX } from '../domain/operation-type.ts'

const closed = { additionalProperties: false }
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])

const Name = Type.String({
  minLength: 1,
  maxLength: TYPE_NAME_MAX,
  pattern: '^[^\\s/\\p{C}]([^/\\p{C}]*[^\\s/\\p{C}])?$',
})
const Title = Type.String({ maxLength: 200 })
const Description = Type.String({ maxLength: 5_000 })
const ModelName = Type.String({ minLength: 1, maxLength: 200 })

/** A device model: its name, or what tells it apart. */
export const Model = Type.Union([
  ModelName,
  Type.Object(
    { manufacturer: Type.Optional(orNull(ModelName)), name: ModelName, version: Type.Optional(orNull(ModelName)) },
    closed,
  ),
])

/** A stage that operations of the type may go through; a device reports only those it does. */
export const StepDefinition = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 255 }),
    title: Type.Optional(orNull(Title)),
    description: Type.Optional(orNull(Description)),
    response: Type.Optional(Type.Unknown()),
  },
  closed,
)

const described = {
  title: Type.Optional(orNull(Title)),
  description: Type.Optional(orNull(Description)),
  applicableTo: Type.Optional(
    orNull(Type.Array(Type.Enum([...RESOURCE_TYPES]), { minItems: 1, maxItems: APPLICABLE_MAX, uniqueItems: true })),
  ),
  models: Type.Optional(orNull(Type.Array(Model, { maxItems: MODELS_MAX }))),
  parameters: Type.Optional(
    Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
      description:
        'A JSON Schema of type object, or {"schema": such a one}. Its $schema may name draft-06, draft-07, draft 2019-09 or ' +
        '2020-12; without one it is read as draft-07. A keyword that its draft would pass over and another knows is refused. ' +
        'format says what is meant and refuses nothing: what must hold is said by a pattern. Patterns run in linear time, ' +
        'without look-around and back-references. A schema may refer into itself, but not to itself',
    }),
  ),
  steps: Type.Optional(orNull(Type.Array(StepDefinition, { maxItems: STEPS_MAX }))),
  profiles: Type.Optional(
    orNull(
      Type.Array(Type.String({ maxLength: 50 }), {
        maxItems: 20,
        description: 'Who may run it: advanced, admin_domain, super_admin_domain, admin, root; left out, all of these',
      }),
    ),
  ),
  fromCatalog: Type.Optional(
    orNull(
      Type.String({ maxLength: TYPE_NAME_MAX, description: 'The name of the catalog type that it is a clone of' }),
    ),
  ),
}

/** A new type: a clone with words of its own, or everything from scratch. */
export const OperationTypeBody = Type.Object(
  { name: Name, ...described },
  {
    ...closed,
    examples: [
      { name: 'REBOOT_AT_NIGHT', title: 'Reboot at night', fromCatalog: 'REBOOT_EQUIPMENT' },
      {
        name: 'BLINK',
        title: 'Blink',
        applicableTo: ['entity.device'],
        parameters: {
          type: 'object',
          properties: { times: { type: 'integer', minimum: 1, default: 3 } },
          additionalProperties: false,
        },
        steps: [{ name: 'BLINK', title: 'Blink' }],
        profiles: ['admin'],
      },
    ],
  },
)
export type OperationTypeBody = Static<typeof OperationTypeBody>

/** A change of a type: what is left out stays, null takes a member away. Of a clone only name, title and description change. */
export const OperationTypeChangeBody = Type.Object({ name: Type.Optional(Name), ...described }, closed)
export type OperationTypeChangeBody = Static<typeof OperationTypeChangeBody>

/** A type as read. */
export const OperationTypeAnswer = Type.Object({ name: Name, ...described }, closed)
export const OperationTypesAnswer = Type.Array(OperationTypeAnswer)

/** What went with a type that was removed: the first thousand of its open operations, and its tasks. */
export const ClosedAnswer = Type.Object({ operations: Type.Array(Type.String()), tasks: Type.Array(Type.String()) })
