/**
 * The two forms in which parameters travel to a device: the list of named, typed values, and the plain object for devices
 * provisioned so. It converts between them and judges no value: that is the operation type's schema.
 */
import { type Static, Type } from 'typebox'
import { isObject, type JsonObject, type Reading, read, refuse } from './reading.ts'

/** The kinds of a typed value. */
export const PARAMETER_KINDS = ['string', 'number', 'boolean', 'array', 'object'] as const
export type ParameterKind = (typeof PARAMETER_KINDS)[number]

/** One named, typed value. `value` holds it under its kind. Serves: Device-side exchange flows. */
export const DeviceParameter = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    type: Type.Enum([...PARAMETER_KINDS]),
    value: Type.Object({
      string: Type.Optional(Type.String()),
      number: Type.Optional(Type.Number()),
      boolean: Type.Optional(Type.Boolean()),
      array: Type.Optional(Type.Array(Type.Unknown())),
      object: Type.Optional(Type.Unknown()),
    }),
  },
  { description: 'A named, typed value: {"name":"type","type":"string","value":{"string":"HARDWARE"}}' },
)
export type DeviceParameter = Static<typeof DeviceParameter>

/** How a device wants its parameters, as provisioned in `provision.device.operation.parameters`. */
const PARAMETER_FORMS = ['typed', 'object'] as const
export type ParameterForm = (typeof PARAMETER_FORMS)[number]

/** Writes a parameter object as the typed list, in the order of its members; members that are undefined are left out. */
export function encodeParameters(parameters: JsonObject): DeviceParameter[] {
  const list: DeviceParameter[] = []
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue
    const type = kindOf(value)
    list.push({ name, type, value: { [type]: value } })
  }
  return list
}

/**
 * Reads a typed list back into a parameter object; an entry whose `type` is missing or does not fit is read by the one member of `value`.
 * Fails, naming the entry, on an entry without a name, with a name that stands twice, or without a value.
 */
export function decodeParameters(list: readonly unknown[], field = 'parameters'): Reading<JsonObject> {
  const entries = new Map<string, unknown>()
  for (const [index, entry] of list.entries()) {
    const at = `${field}[${index}]`
    if (!isObject(entry)) return refuse(at, 'must be an object with name, type and value')
    const { name, type, value } = entry
    if (typeof name !== 'string' || name === '') return refuse(`${at}.name`, 'must be a text that is not empty')
    if (entries.has(name)) return refuse(`${at}.name`, `stands twice: ${name}`)
    if (!isObject(value)) return refuse(`${at}.value`, 'must be an object with one member, named after the type')
    const kind = PARAMETER_KINDS.find(known => known === type && Object.hasOwn(value, known)) ?? onlyKindOf(value)
    if (kind === undefined) return refuse(`${at}.value`, `must have one member, of ${PARAMETER_KINDS.join(', ')}`)
    entries.set(name, value[kind])
  }
  return read(Object.fromEntries(entries))
}

/**
 * Reads parameters in whichever form they came; absent and null are no parameters.
 * Fails on anything but a typed list and an object.
 */
export function readParameters(parameters: unknown, field = 'parameters'): Reading<JsonObject> {
  if (parameters === undefined || parameters === null) return read({})
  if (Array.isArray(parameters)) return decodeParameters(parameters, field)
  if (isObject(parameters)) return read(parameters)
  return refuse(field, 'must be an object or a list of named, typed values')
}

function onlyKindOf(value: JsonObject): ParameterKind | undefined {
  const kinds = PARAMETER_KINDS.filter(kind => Object.hasOwn(value, kind))
  return kinds.length === 1 ? kinds[0] : undefined
}

function kindOf(value: unknown): ParameterKind {
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object'
}
