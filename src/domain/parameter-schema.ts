/**
 * How large a parameter schema may be: bounds within which compiling and applying it costs little, whoever wrote it. Whether it is a
 * JSON Schema at all is for the validator to say. Serves: Operation type (parameter schema).
 */
import { DroverError } from './errors.ts'
import { DRAFT_URIS, draftOf, refusalOf, type SchemaDraft } from './schema-draft.ts'

/** A JSON Schema of type object. */
export type ParameterSchema = Readonly<Record<string, unknown>>

/** Levels of schemas within schemas; a reference counts as one. */
const SCHEMA_DEPTH_MAX = 20
/** Schemas within a schema, those behind a reference counted every time. Compiling 300 takes some 20 ms. */
const SUBSCHEMAS_MAX = 300
/** Values of every kind: members, list entries, alternatives. */
const SCHEMA_PARTS_MAX = 3_000
const SCHEMA_CHARACTERS_MAX = 100_000
const PATTERN_CHARACTERS_MAX = 500
const PATTERNS_MAX = 100

/** How much there is of a schema, references followed. */
export interface SchemaSize {
  /** every value in it */
  parts: number
  subschemas: number
  /** regular expressions, each once for every place that leads to it */
  readonly patterns: string[]
}

/** Members whose value is a schema, a list of schemas, or schemas by name. */
const SINGLE = [
  'additionalItems',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contains',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
]
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const MAPS = ['properties', 'patternProperties', 'definitions', '$defs', 'dependencies', 'dependentSchemas']
/** Of the members that steer a validator only these; others would name, find or run the schema in a way these bounds do not see. */
const STEERING = ['$ref', '$defs', '$comment']

function fail(name: string, reason: string): never {
  throw new DroverError('invalidField', [{ name, value: reason }], `Invalid field: ${name} ${reason}.`)
}

function isObject(value: unknown): value is ParameterSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The schema as it is judged: what only says where it comes from is left out at its top. */
export function bareSchema({ $schema: _, $id: __, ...schema }: ParameterSchema): ParameterSchema {
  return schema
}

/**
 * Measures a schema and refuses it when it is not of type object, exceeds a bound, refers out of itself or round in a circle, or says
 * what its draft does not know. `path` is the name under which the client knows it.
 */
export function measureSchema(schema: unknown, path = 'parameters'): SchemaSize {
  if (!isObject(schema)) fail(path, 'must be a JSON Schema')
  if (schema.type !== 'object') fail(`${path}.type`, 'must be "object"')
  if (JSON.stringify(schema).length > SCHEMA_CHARACTERS_MAX) fail(path, `has over ${SCHEMA_CHARACTERS_MAX} characters`)
  const draft = draftOf(schema)
  if (draft === undefined) fail(`${path}.$schema`, `must be left out, or one of ${DRAFT_URIS.join(', ')}`)
  const size: SchemaSize = { parts: 0, subschemas: 0, patterns: [] }
  measure(bareSchema(schema), path, 1, { root: schema, draft, size, path, open: new Set([schema]) })
  return size
}

interface Measuring {
  readonly root: ParameterSchema
  readonly draft: SchemaDraft
  readonly size: SchemaSize
  /** the name of the whole */
  readonly path: string
  /** the schemas around the one being measured, and that one: none of them can be referred to */
  readonly open: Set<unknown>
}

function measure(schema: unknown, path: string, depth: number, measuring: Measuring): void {
  const { size, open } = measuring
  size.subschemas += 1
  if (size.subschemas > SUBSCHEMAS_MAX)
    fail(measuring.path, `holds over ${SUBSCHEMAS_MAX} schemas, references followed`)
  if (depth > SCHEMA_DEPTH_MAX) fail(path, `lies deeper than ${SCHEMA_DEPTH_MAX} levels, references followed`)
  if (!isObject(schema)) return
  open.add(schema)
  for (const [name, value] of Object.entries(schema)) measureKeyword(name, value, `${path}.${name}`, depth, measuring)
  open.delete(schema)
}

function measureKeyword(name: string, value: unknown, here: string, depth: number, measuring: Measuring): void {
  const { size, draft, open, root } = measuring
  if (name.startsWith('$') && !STEERING.includes(name)) fail(here, 'cannot stand in a parameter schema')
  const refusal = refusalOf(name, value, draft)
  if (refusal !== undefined) fail(here, refusal)
  if (name === '$ref') {
    const target = referred(value, here, root)
    if (open.has(target)) fail(here, 'refers to itself')
    measure(target, here, depth + 1, measuring)
  } else if (name === 'pattern') notePattern(value, here, size)
  else if (SINGLE.includes(name) || (name === 'items' && isObject(value))) measure(value, here, depth + 1, measuring)
  else if (LISTS.includes(name) || name === 'items') measureList(value, here, depth, measuring)
  else if (MAPS.includes(name)) measureMap(name, value, here, depth, measuring)
  else countParts(value, here, measuring)
}

function measureList(list: unknown, path: string, depth: number, measuring: Measuring): void {
  if (!Array.isArray(list)) return
  for (const [index, each] of list.entries()) measure(each, `${path}[${index}]`, depth + 1, measuring)
}

function measureMap(keyword: string, map: unknown, path: string, depth: number, measuring: Measuring): void {
  if (!isObject(map)) return
  for (const [name, value] of Object.entries(map)) {
    if (keyword === 'patternProperties') notePattern(name, path, measuring.size)
    if (Array.isArray(value)) countParts(value, path, measuring)
    else measure(value, `${path}.${name}`, depth + 1, measuring)
  }
}

function notePattern(pattern: unknown, path: string, size: SchemaSize): void {
  if (typeof pattern !== 'string') return
  if (pattern.length > PATTERN_CHARACTERS_MAX) fail(path, `is longer than ${PATTERN_CHARACTERS_MAX} characters`)
  size.patterns.push(pattern)
  if (size.patterns.length > PATTERNS_MAX) fail(path, `is one of over ${PATTERNS_MAX} patterns`)
}

/** Counts a value that is no schema: a default, alternatives, a title. */
function countParts(value: unknown, path: string, { size }: Measuring): void {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    size.parts += 1
    if (size.parts > SCHEMA_PARTS_MAX) fail(path, `brings the schema over ${SCHEMA_PARTS_MAX} values`)
    if (typeof next === 'object' && next !== null) open.push(...Object.values(next).slice(0, SCHEMA_PARTS_MAX + 1))
  }
}

function referred(reference: unknown, path: string, root: ParameterSchema): unknown {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) fail(path, 'must refer into the schema itself: #/…')
  return followed(reference, root) ?? fail(path, 'refers to nothing')
}

/** What a reference leads to in a schema; undefined where it leads to nothing, or out of it. */
export function followed(reference: unknown, root: unknown): unknown {
  const [, pointer] = typeof reference === 'string' ? (/^#((?:\/.*)?)$/.exec(reference) ?? []) : []
  if (pointer === undefined) return undefined
  return pointer
    .split('/')
    .slice(1)
    .map(segment => decoded(segment)?.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((target, name) => {
      const holds = typeof target === 'object' && target !== null && name !== undefined && Object.hasOwn(target, name)
      return holds ? (target as Record<string, unknown>)[name] : undefined
    }, root)
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** How much there is of a value: its parts, and the characters of its texts and names. Stops counting beyond `max`. */
export function weigh(value: unknown, max: number): number {
  const open: unknown[] = [value]
  let weight = 0
  while (open.length > 0 && weight <= max) {
    const next = open.pop()
    weight += 1
    if (typeof next === 'string') weight += next.length
    else if (Array.isArray(next)) for (const item of next) open.push(item)
    else if (isObject(next)) {
      for (const [name, member] of Object.entries(next)) {
        weight += name.length
        open.push(member)
      }
    }
  }
  return weight
}
