/** What may be asked of entities: the definition of an operation. Refuses to validate parameters. Serves: Operation type. */
import { RESOURCE_TYPES, type ResourceType } from './data-model.ts'
import { DroverError } from './errors.ts'
import type { ParameterSchema } from './parameter-schema.ts'

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

/** Every member that a type may have, in the order in which tables show them. */
export const TYPE_MEMBERS = [
  'name',
  'title',
  'description',
  'applicableTo',
  'models',
  'parameters',
  'steps',
  'profiles',
  'fromCatalog',
] as const satisfies readonly (keyof OperationType)[]

/** Longest name of a type. */
export const TYPE_NAME_MAX = 50
/** Types of one organization: they are listed and searched as a whole. */
export const TYPES_MAX = 500
export const STEPS_MAX = 100
export const MODELS_MAX = 200
export const APPLICABLE_MAX = RESOURCE_TYPES.length

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
