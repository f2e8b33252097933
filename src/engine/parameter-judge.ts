/**
 * Judges parameters by the schema of their operation type and fills in its defaults. Patterns run on an engine whose time is
 * linear, so that no schema can stop the service. Refuses to know where schemas come from.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { RE2JS } from 're2js'
import { DroverError, type ErrorContext } from '../domain/errors.ts'
import { judgeSchemaBounds, type OperationType, type ParameterSchema } from '../domain/operation-type.ts'

const COMPILED_MAX = 1_000
const CONTEXT_MAX = 20

/** A regular expression in the shape that the validator uses. */
function linearPattern(pattern: string): { test: (text: string) => boolean } {
  const compiled = RE2JS.compile(pattern)
  return { test: text => compiled.matcher(text).find() }
}

const validator = () =>
  new Ajv({
    useDefaults: true,
    strict: false,
    allErrors: false,
    ownProperties: true,
    addUsedSchema: false,
    validateFormats: false,
    logger: false,
    code: { regExp: Object.assign((pattern: string) => linearPattern(pattern), { code: 'linearPattern' }) },
  })

/** Compiled schemas, by their text: the same schema in a thousand organizations is compiled once. */
const compiled = new Map<string, ValidateFunction>()

function compile(schema: ParameterSchema): ValidateFunction {
  const text = JSON.stringify(schema)
  const known = compiled.get(text)
  if (known) return known
  const made = validator().compile(schema)
  if (compiled.size >= COMPILED_MAX) compiled.clear()
  compiled.set(text, made)
  return made
}

/** Refuses what is not a schema, or could cost more than a validation should. Serves: Operation type (parameter schema). */
export function judgeSchema(schema: unknown): asserts schema is ParameterSchema {
  judgeSchemaBounds(schema)
  try {
    compile(schema)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new DroverError(
      'invalidField',
      [{ name: 'parameters', value: reason }],
      `parameters is no valid schema: ${reason}`,
    )
  }
}

/**
 * The parameters with the schema's defaults filled in. Throws a DroverError that names the offending fields; the argument is left
 * as it is. Serves: Operation type (parameter schema), Errors.
 */
export function judgeParameters(
  type: Pick<OperationType, 'name' | 'parameters' | 'fromCatalog'>,
  parameters: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isUpdate = type.name === 'UPDATE' || type.fromCatalog === 'UPDATE'
  if (isUpdate && !isFilled(parameters.deploymentElements)) {
    throw new DroverError('bundleMissing', [{ name: 'job.request.parameters.deploymentElements' }])
  }
  const filled = structuredClone(parameters) as Record<string, unknown>
  const validate = compile(type.parameters)
  if (validate(filled)) return filled
  throw new DroverError('invalidParameters', (validate.errors ?? []).slice(0, CONTEXT_MAX).map(contextOf))
}

const isFilled = (value: unknown) => Array.isArray(value) && value.length > 0

function contextOf(error: ErrorObject): ErrorContext {
  const member = error.params.additionalProperty ?? error.params.missingProperty
  const path = [...error.instancePath.split('/').slice(1), ...(typeof member === 'string' ? [member] : [])].join('.')
  return { name: `job.request.parameters${path === '' ? '' : `.${path}`}`, value: error.message }
}
