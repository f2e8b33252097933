/**
 * Judges data by a JSON Schema in the browser, for forms: by an interpreter, since the content security policy allows no code made at
 * run time, and with patterns in linear time, as the service runs them. The service judges again, and has the last word.
 */
import { format, type OutputUnit, type Schema, Validator } from '@cfworker/json-schema'
import type { RE2JS } from 're2js'
import { persistent } from '../persistent.ts'

type Part = Readonly<Record<string, unknown>>
export type ParameterSchema = Part

/** Schemas that stand in one place, references followed; more is drawn by no form. */
const IN_ONE_PLACE_MAX = 1_000
const PATTERN = 'drover-pattern '

/** Keywords whose value is a schema by name, is data, or is a list of schemas for the same place. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'])
const DATA = new Set(['const', 'enum', 'default', 'examples', 'required'])
const SAME_PLACE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else']

const isPart = (value: unknown): value is Part => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Every schema directly inside one, with its keyword. */
function* inside(schema: Part): Generator<Part> {
  for (const [key, value] of Object.entries(schema)) {
    if (DATA.has(key)) continue
    const parts = NAMED.has(key) && isPart(value) ? Object.values(value) : Array.isArray(value) ? value : [value]
    for (const part of parts) if (isPart(part)) yield part
  }
}

function* everySchema(schema: Part): Generator<Part> {
  yield schema
  for (const part of inside(schema)) yield* everySchema(part)
}

const patternsOf = (schema: Part): string[] => [
  ...new Set(
    [...everySchema(schema)].flatMap(({ pattern, patternProperties }) => [
      ...(typeof pattern === 'string' ? [pattern] : []),
      ...(isPart(patternProperties) ? Object.keys(patternProperties) : []),
    ]),
  ),
]

let engine: typeof RE2JS | undefined
const compiled = new Map<string, RE2JS>()

/** Whether judging by this schema waits for the engine of patterns. Until it is loaded, patterns let everything through. */
export const lacksEngine = (schema: ParameterSchema): boolean => engine === undefined && patternsOf(schema).length > 0

/** Loads the engine of patterns: asked for once something is typed, since it is large and what was stored has been judged already. */
export async function loadEngine(): Promise<void> {
  engine ??= (await persistent(() => import('re2js'))()).RE2JS
}

function compile(pattern: string): RE2JS | undefined {
  const known = compiled.get(pattern)
  if (known || !engine) return known
  const made = engine.compile(pattern)
  compiled.set(pattern, made)
  return made
}

/** What a reference within the schema refers to. */
function referred(ref: string, root: Part): unknown {
  if (!ref.startsWith('#')) return undefined
  const names = ref.slice(1).split('/').slice(1)
  return names.reduce<unknown>((at, name) => {
    const key = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
    return typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Part)[key] : undefined
  }, root)
}

function faultOfPlace(schema: unknown, root: Part, left: { count: number }): string {
  if (!isPart(schema)) return ''
  left.count -= 1
  if (left.count < 0) return 'It refers to itself without end, or to too much in one place.'
  const { $ref } = schema
  if (typeof $ref === 'string') {
    const target = referred($ref, root)
    if (target === undefined) return `It refers to ${$ref}, which is not there.`
    const fault = faultOfPlace(target, root, left)
    if (fault !== '') return fault
  }
  for (const key of SAME_PLACE) {
    for (const part of [schema[key]].flat()) {
      const fault = faultOfPlace(part, root, left)
      if (fault !== '') return fault
    }
  }
  return ''
}

/** Why no form can be drawn from a schema, in a sentence; empty where one can. Patterns are judged once their engine is there. */
export function faultOf(schema: ParameterSchema): string {
  for (const part of everySchema(schema)) {
    const fault = faultOfPlace(part, schema, { count: IN_ONE_PLACE_MAX })
    if (fault !== '') return fault
  }
  for (const pattern of patternsOf(schema)) {
    try {
      compile(pattern)
    } catch (error) {
      return `The pattern ${pattern} cannot be run: ${error instanceof Error ? error.message : String(error)}.`
    }
  }
  return ''
}

/** The same schema without a pattern for the interpreter, whose own have no bound: each becomes a format of its own. */
function withoutPatterns(schema: unknown): unknown {
  if (!isPart(schema)) return schema
  const hasPatterns = isPart(schema.patternProperties)
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (DATA.has(key)) return [[key, value]]
    if (key === 'pattern' && typeof value === 'string') return []
    // Which members have a name of such a kind, the service says.
    if (hasPatterns && (key === 'patternProperties' || key === 'additionalProperties')) return []
    if (Array.isArray(value)) return [[key, value.map(withoutPatterns)]]
    if (NAMED.has(key) && isPart(value)) {
      return [[key, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withoutPatterns(part)]))]]
    }
    return [[key, withoutPatterns(value)]]
  })
  const { pattern } = schema
  if (typeof pattern !== 'string') return Object.fromEntries(entries)
  const name = `${PATTERN}${pattern}`
  format[name] = text => compile(pattern)?.matcher(text).find() ?? true
  const before = Array.isArray(schema.allOf) ? schema.allOf.map(withoutPatterns) : []
  return { ...Object.fromEntries(entries), allOf: [...before, { format: name }] }
}

/** Keywords that only say that something within is wrong. */
const SUMS = new Set(['properties', 'items', 'prefixItems', 'allOf', 'additionalProperties', 'dependentSchemas'])

/** What of the data does not fit; nothing where all does. The definitions of `root` serve a schema that has none. */
export function judge(schema: ParameterSchema, data: unknown, root?: ParameterSchema): OutputUnit[] {
  const whole = root && !('$defs' in schema) ? { ...schema, $defs: root.$defs, definitions: root.definitions } : schema
  const plain = JSON.parse(JSON.stringify(withoutPatterns(whole))) as Schema
  const { errors } = new Validator(plain, '7', false).validate(data ?? null)
  return errors
    .filter(each => !SUMS.has(each.keyword))
    .map(each => {
      const [, pattern] = each.error.split(PATTERN)
      return pattern === undefined
        ? each
        : { ...each, keyword: 'pattern', error: `does not match the pattern ${pattern.replace(/"\.$/, '')}` }
    })
}
