/** What may be asked of entities: the definition of an operation. Refuses to validate parameters. Serves: Operation type. */
import { DroverError, type ErrorContext } from './errors.ts'

/** Serves: Target (`resourceType`). */
export const RESOURCE_TYPES = [
  'entity.device',
  'entity.asset',
  'entity.commsModule',
  'entity.subscription',
  'entity.subscriber',
] as const
export type ResourceType = (typeof RESOURCE_TYPES)[number]

/** Profiles that a type may list. */
export const TYPE_PROFILES = ['advanced', 'admin_domain', 'super_admin_domain', 'admin', 'root'] as const

/** A stage that an operation of the type may go through. */
export interface StepDefinition {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly response?: unknown
}

/** A device model: its name, or what tells it apart. */
export type Model = string | { readonly manufacturer?: string; readonly name: string; readonly version?: string }

/** A JSON Schema of type object. */
export type ParameterSchema = Readonly<Record<string, unknown>>

/** An operation type as it is read back. Serves: Operation type. */
export interface OperationType {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly applicableTo: readonly ResourceType[]
  readonly models: readonly Model[]
  readonly parameters: ParameterSchema
  readonly steps: readonly StepDefinition[]
  /** who may run it; absent: everybody but `viewer` */
  readonly profiles?: readonly string[]
  /** name of the catalog type that it was cloned from */
  readonly fromCatalog?: string
}

/** Longest name of a type. */
export const TYPE_NAME_MAX = 50

const SCHEMA_DEPTH_MAX = 20
const SCHEMA_NODES_MAX = 5_000
const SCHEMA_CHARACTERS_MAX = 100_000
const ENUM_MAX = 1_000
const PATTERN_MAX = 500

/** The names that a model is matched by. */
export function modelNames(models: readonly Model[]): string[] {
  return models.map(model => (typeof model === 'string' ? model : model.name))
}

/**
 * Refuses profiles that are not allowed in a type, `viewer` among them. Serves: Errors (first two rows).
 */
export function judgeProfiles(profiles: readonly string[]): void {
  const wrong = profiles.filter(profile => !(TYPE_PROFILES as readonly string[]).includes(profile))
  if (wrong.length > 0) {
    throw new DroverError(
      'invalidField',
      [{ name: 'profiles', value: wrong }],
      `A type may not list ${wrong.join(', ')}.`,
    )
  }
}

/**
 * Refuses a schema that is not of type object or that could cost more than a validation should: too deep, too large, with
 * references out of itself or around in a circle. Whether it is a JSON Schema at all is for the validator to say.
 */
export function judgeSchemaBounds(schema: unknown): asserts schema is ParameterSchema {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    fail('parameters', 'must be a JSON Schema object')
  if ((schema as ParameterSchema).type !== 'object') fail('parameters.type', 'must be "object"')
  if (JSON.stringify(schema).length > SCHEMA_CHARACTERS_MAX)
    fail('parameters', `is larger than ${SCHEMA_CHARACTERS_MAX} characters`)
  let nodes = 0
  const walk = (node: unknown, path: string, depth: number): void => {
    nodes += 1
    if (nodes > SCHEMA_NODES_MAX) fail('parameters', `has more than ${SCHEMA_NODES_MAX} parts`)
    if (depth > SCHEMA_DEPTH_MAX) fail(path, `lies deeper than ${SCHEMA_DEPTH_MAX} levels`)
    if (Array.isArray(node)) for (const [i, each] of node.entries()) walk(each, `${path}[${i}]`, depth + 1)
    else if (typeof node === 'object' && node !== null) {
      for (const [name, value] of Object.entries(node)) {
        const here = `${path}.${name}`
        if (REFERENCES.includes(name) && typeof value === 'string')
          fail(here, 'is a reference, which a parameter schema may not hold')
        if (name === 'enum' && Array.isArray(value) && value.length > ENUM_MAX)
          fail(here, `has more than ${ENUM_MAX} values`)
        if (name === 'pattern' && typeof value === 'string' && value.length > PATTERN_MAX) {
          fail(here, `is longer than ${PATTERN_MAX} characters`)
        }
        walk(value, here, depth + 1)
      }
    }
  }
  walk(schema, 'parameters', 0)
}

const REFERENCES: readonly string[] = ['$ref', '$dynamicRef', '$recursiveRef', '$id']

function fail(name: string, reason: string): never {
  const context: ErrorContext[] = [{ name, value: reason }]
  throw new DroverError('invalidField', context, `${name} ${reason}.`)
}
