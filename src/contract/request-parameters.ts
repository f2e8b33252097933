/**
 * Parameters as a client's request holds them: in either form, and nothing in the typed list that would be dropped in silence.
 * It judges no value; devices are read with more patience, by `device-parameters`.
 */
import { PARAMETER_KINDS, readParameters } from './device-parameters.ts'
import { isObject, type JsonObject, type Reading, refuse } from './reading.ts'

/** A refused reading; `isUnknown` where the field is a member that the interface does not have. */
type Refused = Extract<Reading<JsonObject>, { ok: false }> & { readonly isUnknown?: boolean }

const MEMBERS: readonly string[] = ['name', 'type', 'value']
const KINDS: readonly string[] = PARAMETER_KINDS

/**
 * Reads the parameters of a request, an object or a typed list. Fails, naming the field, on unknown members of the list, on a `type`
 * that does not exist, and on a value that is not of the kind under which it stands or has another beside it.
 */
export function readRequestParameters(
  parameters: unknown,
  field: string,
): Extract<Reading<JsonObject>, { ok: true }> | Refused {
  const reading = readParameters(parameters, field)
  if (!reading.ok || !Array.isArray(parameters)) return reading
  for (const [index, entry] of parameters.entries()) {
    const refused = refusedEntry(entry, `${field}[${index}]`)
    if (refused) return refused
  }
  return reading
}

/** What is wrong with an entry that has a name and a value. */
function refusedEntry(entry: JsonObject, at: string): Refused | undefined {
  const { type, value } = entry
  const unknown = unknownMember(entry, MEMBERS, at)
  if (unknown) return unknown
  if (type !== undefined && type !== null && !KINDS.includes(type as string)) {
    return refuse(`${at}.type`, `must be one of ${KINDS.join(', ')}`)
  }
  return isObject(value)
    ? (unknownMember(value, KINDS, `${at}.value`) ?? misfit(value, type, `${at}.value`))
    : undefined
}

function unknownMember(members: JsonObject, known: readonly string[], at: string): Refused | undefined {
  const unknown = Object.keys(members).find(name => !known.includes(name))
  if (unknown === undefined) return undefined
  return { ...refuse(`${at}.${unknown}`, `is unknown; known are ${known.join(', ')}`), isUnknown: true }
}

function misfit(value: JsonObject, type: unknown, at: string): Refused | undefined {
  for (const [kind, held] of Object.entries(value)) {
    if (kind !== (type ?? kind)) {
      // Clients that write every member of a class leave those that do not apply null.
      if (held === null && Object.hasOwn(value, type as string)) continue
      return refuse(`${at}.${kind}`, `does not fit the type ${type}`)
    }
    if (!isOfKind(held, kind)) return refuse(`${at}.${kind}`, `must be of the kind ${kind}`)
  }
  return undefined
}

function isOfKind(value: unknown, kind: string): boolean {
  if (kind === 'array') return Array.isArray(value)
  // What is null has no kind of its own and travels as an object.
  if (kind === 'object') return typeof value === 'object' && !Array.isArray(value)
  return typeof value === kind
}
