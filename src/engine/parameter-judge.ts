/**
 * Judges parameters by the schema of their operation type and fills in its defaults, with a bound on the effort: neither a schema
 * nor parameters can stop the service. Refuses to know where schemas come from.
 */
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'
import { DroverError } from '../domain/errors.ts'
import type { OperationType } from '../domain/operation-type.ts'
import { bareSchema, measureSchema, type ParameterSchema, weigh } from '../domain/parameter-schema.ts'
import { draftOf, type SchemaDraft } from '../domain/schema-draft.ts'
import { contextOf } from './parameter-errors.ts'

/** Compiled schemas that are kept, the one unused for longest going first. */
const COMPILED_MAX = 500
/** Characters and parts of parameters, defaults filled in. */
const WEIGHT_MAX = 1_000_000
/** Parts of the schema times weight of the parameters: a step takes some 10 to 50 ns. */
const EFFORT_MAX = 50_000_000
/** The same for finding everything that is wrong, not only the first: each fault takes some 200 bytes until it is told. */
const EVERY_FAULT_EFFORT_MAX = 500_000
/** Characters tested times the size of the pattern's program: a step takes some 2 to 8 ns. */
const PATTERN_EFFORT_MAX = 30_000_000
/** Also a small program takes its time per character. */
const PROGRAM_MIN = 100
const PROGRAM_MAX = 5_000

let patternEffort = 0

/** Thrown within a validator, which does not know whose parameters it has. */
class TooLarge extends Error {}

function tooLarge(field: string): DroverError {
  return new DroverError('invalidParameters', [
    { name: field, value: 'larger than can be judged by the schema of the operation type' },
  ])
}

/** A regular expression in the shape that the validator uses, in time linear in the text, and counted. */
function linearPattern(pattern: string): { test: (text: string) => boolean } {
  const compiled = RE2JS.compile(pattern)
  const perCharacter = Math.max(PROGRAM_MIN, compiled.programSize())
  return {
    test(text) {
      patternEffort += perCharacter * text.length
      if (patternEffort > PATTERN_EFFORT_MAX) throw new TooLarge()
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

const DRAFTS = { '7': Ajv, '2019-09': Ajv2019, '2020-12': Ajv2020 } as const

function validator(draft: SchemaDraft, allErrors: boolean): InstanceType<(typeof DRAFTS)[SchemaDraft]> {
  const ajv = new DRAFTS[draft]({
    useDefaults: true,
    strict: false,
    allErrors,
    verbose: true,
    ownProperties: true,
    addUsedSchema: false,
    validateFormats: false,
    // A schema was judged when it was stored; to judge it again takes longer than to compile it.
    validateSchema: false,
    meta: false,
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
  /** stops at the first fault */
  readonly validate: ValidateFunction
  /** finds every fault; compiled when it is first asked for */
  readonly validateAll: () => ValidateFunction
  readonly parts: number
}

const metaOptions = { strict: false, validateFormats: false, logger: false } as const
const metaSchemas = {
  '7': new Ajv(metaOptions),
  '2019-09': new Ajv2019(metaOptions),
  '2020-12': new Ajv2020(metaOptions),
} as const
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
  const draft = draftOf(schema)!
  const bare = bareSchema(schema)
  let all: ValidateFunction | undefined
  return {
    validate: validator(draft, false).compile(bare),
    validateAll: () => {
      all ??= validator(draft, true).compile(bare)
      return all
    },
    parts: parts + subschemas,
  }
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
  const metaSchema = metaSchemas[draftOf(schema as ParameterSchema)!]
  if (!metaSchema.validateSchema(bareSchema(schema as ParameterSchema))) throw notASchema(metaSchema.errorsText())
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
 * The parameters with the schema's defaults filled in. Throws a DroverError that names the offending fields, each within `field`, the
 * path under which the client sent the parameters; the argument is left as it is. Serves: Operation type (parameter schema), Errors.
 */
export function judgeParameters(
  type: Pick<OperationType, 'name' | 'parameters' | 'fromCatalog'>,
  parameters: Readonly<Record<string, unknown>>,
  field: string,
): Record<string, unknown> {
  const isUpdate = type.name === 'UPDATE' || type.fromCatalog === 'UPDATE'
  if (isUpdate && !isFilled(parameters.deploymentElements)) {
    throw new DroverError('bundleMissing', [{ name: `${field}.deploymentElements` }])
  }
  const { validate, validateAll, parts } = compile(type.parameters)
  const weight = weigh(parameters, WEIGHT_MAX)
  if (weight > WEIGHT_MAX || weight * parts > EFFORT_MAX) throw tooLarge(field)
  const filled = structuredClone(parameters) as Record<string, unknown>
  if (!run(validate, filled, field)) {
    const every = weight * parts <= EVERY_FAULT_EFFORT_MAX ? validateAll() : validate
    run(every, structuredClone(parameters) as Record<string, unknown>, field)
    throw new DroverError('invalidParameters', contextOf(every.errors ?? [], every.schema, field))
  }
  // Defaults of a thousand items may be much more than what was sent.
  if (weigh(filled, WEIGHT_MAX) > WEIGHT_MAX) throw tooLarge(field)
  return filled
}

function run(validate: ValidateFunction, parameters: Record<string, unknown>, field: string): boolean {
  patternEffort = 0
  try {
    return validate(parameters)
  } catch (error) {
    throw error instanceof TooLarge ? tooLarge(field) : error
  }
}

const isFilled = (value: unknown) => Array.isArray(value) && value.length > 0
