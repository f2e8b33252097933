/**
 * Judges parameters by the schema of their operation type and fills in its defaults, with a bound on the effort: neither a schema
 * nor parameters can stop the service. Refuses to know where schemas come from.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { RE2JS } from 're2js'
import { DroverError, type ErrorContext } from '../domain/errors.ts'
import type { OperationType } from '../domain/operation-type.ts'
import { bareSchema, measureSchema, type ParameterSchema, weigh } from '../domain/parameter-schema.ts'

/** Compiled schemas that are kept, the one unused for longest going first. */
const COMPILED_MAX = 500
const CONTEXT_MAX = 20
/** Characters and parts of parameters, defaults filled in. */
const WEIGHT_MAX = 1_000_000
/** Parts of the schema times weight of the parameters: a step takes some 10 to 50 ns. */
const EFFORT_MAX = 50_000_000
/** Characters tested times the size of the pattern's program: a step takes some 2 to 8 ns. */
const PATTERN_EFFORT_MAX = 30_000_000
/** Also a small program takes its time per character. */
const PROGRAM_MIN = 100
const PROGRAM_MAX = 5_000

let patternEffort = 0

function tooLarge(): DroverError {
  return new DroverError('invalidParameters', [
    { name: 'job.request.parameters', value: 'larger than can be judged by the schema of the operation type' },
  ])
}

/** A regular expression in the shape that the validator uses, in time linear in the text, and counted. */
function linearPattern(pattern: string): { test: (text: string) => boolean } {
  const compiled = RE2JS.compile(pattern)
  const perCharacter = Math.max(PROGRAM_MIN, compiled.programSize())
  return {
    test(text) {
      patternEffort += perCharacter * text.length
      if (patternEffort > PATTERN_EFFORT_MAX) throw tooLarge()
      return compiled.matcher(text).find()
    },
  }
}

/** One text for everything that JSON holds equal: members in one order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
}

function validator(): Ajv {
  const ajv = new Ajv({
    useDefaults: true,
    strict: false,
    allErrors: false,
    verbose: true,
    ownProperties: true,
    addUsedSchema: false,
    validateFormats: false,
    // A schema was judged when it was stored; to judge it again takes longer than to compile it.
    validateSchema: false,
    logger: false,
    code: {
      // The optimiser takes two thirds of the time of a compilation and gains a run nothing that matters.
      optimize: false,
      regExp: Object.assign((pattern: string) => linearPattern(pattern), { code: 'linearPattern' }),
    },
  })
  // The validator's own compares every item with every other.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (unique: boolean, items: unknown[]) => !unique || new Set(items.map(canonical)).size === items.length,
    error: { message: 'must not hold the same item twice' },
  })
  return ajv
}

interface Compiled {
  readonly validate: ValidateFunction
  readonly parts: number
}

const metaSchema = new Ajv({ strict: false, validateFormats: false, logger: false })
/** By text: the same schema in a thousand organizations is compiled once. */
const compiled = new Map<string, Compiled>()

function compile(schema: ParameterSchema): Compiled {
  const text = JSON.stringify(schema)
  const known = compiled.get(text)
  if (known) compiled.delete(text)
  const made = known ?? compileAnew(schema)
  compiled.set(text, made)
  if (compiled.size > COMPILED_MAX) compiled.delete(compiled.keys().next().value!)
  return made
}

function compileAnew(schema: ParameterSchema): Compiled {
  const { parts, subschemas } = measureSchema(schema)
  return { validate: validator().compile(bareSchema(schema)), parts: parts + subschemas }
}

function notASchema(reason: string): DroverError {
  return new DroverError(
    'invalidField',
    [{ name: 'parameters', value: reason }],
    `Invalid field: parameters is no valid schema: ${reason}.`,
  )
}

/** Refuses what is not a schema, or could cost more than a validation should. Serves: Operation type (parameter schema). */
export function judgeSchema(schema: unknown): asserts schema is ParameterSchema {
  const { patterns } = measureSchema(schema)
  const bare = bareSchema(schema as ParameterSchema)
  if (!metaSchema.validateSchema(bare)) throw notASchema(metaSchema.errorsText())
  for (const pattern of patterns) judgePattern(pattern)
  try {
    compile(schema as ParameterSchema)
  } catch (error) {
    if (error instanceof DroverError) throw error
    throw notASchema(error instanceof Error ? error.message : String(error))
  }
}

function judgePattern(pattern: string): void {
  let size: number
  try {
    size = RE2JS.compile(pattern).programSize()
  } catch (error) {
    throw notASchema(error instanceof Error ? error.message : String(error))
  }
  if (size > PROGRAM_MAX) throw notASchema(`the pattern ${pattern} is too large`)
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
  const { validate, parts } = compile(type.parameters)
  const weight = weigh(parameters, WEIGHT_MAX)
  if (weight > WEIGHT_MAX || weight * parts > EFFORT_MAX) throw tooLarge()
  const filled = structuredClone(parameters) as Record<string, unknown>
  patternEffort = 0
  if (!validate(filled)) throw new DroverError('invalidParameters', contextOf(validate.errors ?? []))
  // Defaults of a thousand items may be much more than what was sent.
  if (weigh(filled, WEIGHT_MAX) > WEIGHT_MAX) throw tooLarge()
  return filled
}

const isFilled = (value: unknown) => Array.isArray(value) && value.length > 0

/** How close an error is to what is wrong: of the branches of a choice, the one that was followed furthest. */
const depthOf = ({ instancePath, keyword }: ErrorObject) =>
  instancePath.split('/').length + (keyword === 'additionalProperties' || keyword === 'required' ? 1 : 0)

function contextOf(errors: readonly ErrorObject[]): ErrorContext[] {
  const [error] = errors.toSorted((a, b) => depthOf(b) - depthOf(a))
  if (!error) return [{ name: 'job.request.parameters' }]
  const names = error.instancePath.split('/').slice(1)
  const path = names.map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const value = reasonOf(error)
  return membersOf(error).map(more => ({ name: fieldOf([...path, ...more]), value }))
}

/** A field as the client would write it: `job.request.parameters.list[0].name`. */
function fieldOf(path: readonly string[]): string {
  return path.reduce((at, name) => (/^\d+$/.test(name) ? `${at}[${name}]` : `${at}.${name}`), 'job.request.parameters')
}

/** The members that an error is about, beyond its own path: all that are unknown, the one that is missing. */
function membersOf({ keyword, params, data, parentSchema }: ErrorObject): string[][] {
  if (keyword === 'required') return [[String(params.missingProperty)]]
  if (keyword !== 'additionalProperties' || typeof data !== 'object' || data === null) return [[]]
  const known = Object.keys((parentSchema?.properties as object | undefined) ?? {})
  const patterns = Object.keys((parentSchema?.patternProperties as object | undefined) ?? {}).map(linearPattern)
  const unknown = Object.keys(data).filter(name => !known.includes(name) && !patterns.some(each => each.test(name)))
  return unknown.slice(0, CONTEXT_MAX).map(name => [name])
}

function reasonOf({ keyword, params, message }: ErrorObject): string {
  const allowed = keyword === 'enum' ? (params.allowedValues as unknown[]).join(', ') : ''
  if (allowed !== '' && allowed.length <= 300) return `must be one of ${allowed}`
  return message ?? 'is not valid'
}
