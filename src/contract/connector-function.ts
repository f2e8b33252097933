/**
 * What clients and the service say of connector functions. Members that are not named here are refused. Serves: decisions on
 * connector functions.
 */
import { type Static, Type } from 'typebox'
import { FUNCTION_FAULTS, FUNCTION_NAME_MAX, FUNCTION_SOURCE_MAX } from '../domain/connector-function.ts'

const closed = { additionalProperties: false }
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])

const Name = Type.String({ minLength: 1, maxLength: FUNCTION_NAME_MAX, pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$' })
const Source = Type.String({
  minLength: 1,
  maxLength: FUNCTION_SOURCE_MAX,
  description: 'JavaScript that defines `request(operation, device)`, `response(message, device)` or both',
})
/** Counted from 1. */
export const FunctionVersion = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

const described = {
  description: Type.Optional(orNull(Type.String({ maxLength: 5_000 }))),
  route: Type.Optional(
    orNull(
      Type.String({
        maxLength: 50,
        description: 'Devices post messages of their own format to `/south/v80/devices/{id}/{route}`',
      }),
    ),
  ),
}

/** A new function. */
export const ConnectorFunctionBody = Type.Object(
  { name: Name, ...described, source: Source },
  {
    ...closed,
    examples: [
      {
        name: 'meter',
        route: 'meter',
        source:
          'function request(operation, device) {\n  return { mqtt: { payload: { cmd: operation.name, ref: operation.id } } }\n}\nfunction response(message, device) {\n  return { id: message.json.ref, resultCode: message.json.ok ? "SUCCESSFUL" : "ERROR_PROCESSING" }\n}',
      },
    ],
  },
)
export type ConnectorFunctionBody = Static<typeof ConnectorFunctionBody>

/** A change: what is left out stays, null takes away. A source makes a version; `version` lets an earlier one run again. */
export const ConnectorFunctionChangeBody = Type.Object(
  { ...described, source: Type.Optional(Source), version: Type.Optional(FunctionVersion) },
  closed,
)
export type ConnectorFunctionChangeBody = Static<typeof ConnectorFunctionChangeBody>

/** A function as read, with the source of the version that runs or was asked for. */
export const ConnectorFunctionAnswer = Type.Object({
  name: Name,
  description: Type.Optional(Type.String()),
  route: Type.Optional(Type.String()),
  version: FunctionVersion,
  source: Type.String(),
  createdDate: Type.String(),
  updatedDate: Type.String(),
})
export type ConnectorFunctionAnswer = Static<typeof ConnectorFunctionAnswer>
export const ConnectorFunctionsAnswer = Type.Array(ConnectorFunctionAnswer)

/** The versions that are kept of a function, newest first. */
export const FunctionVersionsAnswer = Type.Array(
  Type.Object({ version: FunctionVersion, source: Type.String(), user: Type.String(), date: Type.String() }),
)

/**
 * A sample on which a function is tried: `operation` for its `request`, `message` for its `response`. With `source` the function need not
 * exist.
 */
export const DryRunBody = Type.Object(
  {
    source: Type.Optional(Source),
    version: Type.Optional(FunctionVersion),
    operation: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    message: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    device: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  {
    ...closed,
    examples: [
      {
        operation: { id: 'op-1', name: 'REBOOT_EQUIPMENT', parameters: { type: 'HARDWARE' } },
        device: { id: 'meter-1' },
      },
      { message: { via: 'http', route: 'meter', body: '{"ref":"op-1","ok":true}' }, device: { id: 'meter-1' } },
    ],
  },
)
export type DryRunBody = Static<typeof DryRunBody>

/** What a function made of a sample. Nothing was sent. */
export const DryRunAnswer = Type.Object({
  ok: Type.Boolean(),
  value: Type.Optional(Type.Unknown({ description: 'What the function gave' })),
  sends: Type.Optional(
    Type.Unknown({
      description: 'What would be sent to the device: http, mqtt or a result; of a `request` that can be used',
    }),
  ),
  responses: Type.Optional(
    Type.Array(Type.Unknown(), { description: 'The responses that would be taken; of a `response` that can be used' }),
  ),
  fault: Type.Optional(Type.Enum([...FUNCTION_FAULTS, 'unusable'])),
  description: Type.Optional(Type.String({ description: 'Why it failed, or why what it gave cannot be used' })),
  log: Type.Array(Type.String(), { description: 'What it wrote with console.log' }),
})
export type DryRunAnswer = Static<typeof DryRunAnswer>
