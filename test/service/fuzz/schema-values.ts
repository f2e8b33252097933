/**
 * Values out of the schemas of the OpenAPI document: as they should be, and mangled. It knows words that mean something to the
 * service by the name of their member, and sends nothing.
 */
import fc from 'fast-check'

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly examples?: readonly unknown[]
}

/** Values that mean something, by the name of their member, alone or behind that of its holder: `daily.start`. */
export type Words = Readonly<Record<string, fc.Arbitrary<unknown>>>

const DEPTH_MAX = 8
const LENGTH_MAX = 4
const OPTIONAL_MAX = 3

/** Where a value stands: its own name, and that of what holds it. */
interface At {
  readonly holder: string
  readonly name: string
  readonly depth: number
}

const TOP: At = { holder: '', name: 'body', depth: 0 }

/** Values that fit a schema, most of the time with words that the service knows. */
export function valuesOf(schema: Schema, words: Words, at: At = TOP): fc.Arbitrary<unknown> {
  const known = [`${at.holder}.${at.name}`, at.name].find(name => Object.hasOwn(words, name))
  const fitting = known === undefined ? shapeOf(schema, words, at) : words[known]!
  return schema.examples ? fc.oneof(fc.constantFrom(...schema.examples), { weight: 3, arbitrary: fitting }) : fitting
}

function shapeOf(schema: Schema, words: Words, at: At): fc.Arbitrary<unknown> {
  const deeper = { ...at, depth: at.depth + 1 }
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(each => valuesOf(each, words, deeper)))
  if (at.depth > DEPTH_MAX) return fc.constant(null)
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return objects(schema, words, at)
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, words, deeper), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? LENGTH_MAX, Math.max(LENGTH_MAX, schema.minItems ?? 0)),
      })
    case 'string':
      return texts(schema)
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -10, max: schema.maximum ?? 1_000_000 })
    case 'number':
      return fc.double({ min: schema.minimum ?? -10, max: schema.maximum ?? 1_000_000, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function objects(schema: Schema, words: Words, { name: holder, depth }: At): fc.Arbitrary<unknown> {
  const inside = (name: string) => ({ holder, name, depth: depth + 1 })
  const members = Object.entries(schema.properties ?? {})
  if (members.length > 0) {
    const requiredKeys = (schema.required ?? []).filter(each => schema.properties && each in schema.properties)
    const optional = members.map(([name]) => name).filter(name => !requiredKeys.includes(name))
    const values = Object.fromEntries(members.map(([name, each]) => [name, valuesOf(each, words, inside(name))]))
    // Few members at a time: where each may be wrong, a request with all of them never gets through.
    return fc
      .subarray(optional, { maxLength: Math.min(optional.length, OPTIONAL_MAX) })
      .chain(chosen => fc.record(Object.fromEntries([...requiredKeys, ...chosen].map(name => [name, values[name]!]))))
  }
  const inner = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {}
  return fc.dictionary(fc.string({ maxLength: 12 }), valuesOf(inner, words, inside('')), { maxKeys: 3 })
}

function texts({ pattern, minLength = 0, maxLength = 30 }: Schema): fc.Arbitrary<string> {
  const plain = fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 30)) })
  if (pattern === undefined || /\\p\{/.test(pattern)) return plain
  return fc.stringMatching(new RegExp(pattern)).map(text => text.slice(0, maxLength))
}

const deep = (levels: number) => JSON.parse(`${'[{"and":'.repeat(levels)}0${'}]'.repeat(levels)}`) as unknown

/** What has made services fall. */
export const POISONS: readonly unknown[] = [
  ...[null, '', 0, -1, -0, 1.5, 1e308, 2 ** 53, true, [], {}, [[]], [null], { '': '' }],
  ...[
    '\u0000',
    '\ud800',
    '\u202e',
    '\ufeff',
    "'; drop table job; --",
    '%s%n',
    '{{1+1}}',
    '../../etc/passwd',
    '٣',
    '９',
    'NaN',
  ],
  ...['2026-13-45T99:99:99Z', '+275760-09-14T00:00:00Z', '0000-01-01T00:00:00Z', '24:00:00Z', '9'.repeat(400), '-'],
  ...['(a+)+$', '[', '\\', '(?<=a)b', 'a{1000}{1000}', '.*'.repeat(200), 'x'.repeat(5_000), 'é'.repeat(600)],
  { toString: 1, constructor: 1, hasOwnProperty: 1 },
  { $ref: '#' },
  JSON.parse('{"__proto__":{"polluted":true}}'),
  deep(40),
  deep(600),
  Array.from({ length: 300 }, (_, i) => `many-${i}`),
  Array.from({ length: 3_000 }, () => 0),
]

interface Place {
  readonly holder: Record<string, unknown>
  readonly key: string
}

function placesIn(value: unknown): Place[] {
  const places: Place[] = []
  const open: unknown[] = [value]
  for (let each = open.pop(); each !== undefined && places.length < 5_000; each = open.pop()) {
    if (typeof each !== 'object' || each === null) continue
    const holder = each as Record<string, unknown>
    for (const key of Object.keys(holder)) {
      places.push({ holder, key })
      if (holder[key] !== undefined) open.push(holder[key])
    }
  }
  return places
}

type Act = (place: Place, poison: unknown) => void

const ACTS: readonly Act[] = [
  ({ holder, key }, poison) => {
    holder[key] = poison
  },
  ({ holder, key }) => {
    delete holder[key]
  },
  ({ holder, key }, poison) => {
    holder[`${key}x`] = poison
  },
  ({ holder, key }) => {
    holder[key] = JSON.stringify(holder[key])
  },
  ({ holder, key }) => {
    holder[key] = [holder[key], holder[key]]
  },
]

/** Values with one to three faults in them, somewhere. */
export function mangled(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const poison = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...POISONS) }, fc.jsonValue({ maxDepth: 3 }))
  const fault = fc.tuple(fc.nat(), fc.constantFrom(...ACTS), poison)
  return fc.tuple(values, fc.array(fault, { minLength: 1, maxLength: 3 })).map(([value, faults]) => {
    const whole = { body: JSON.parse(JSON.stringify(value) ?? 'null') as unknown }
    for (const [at, act, instead] of faults) {
      const places = placesIn(whole)
      const place = places[at % places.length]
      if (place) act(place, JSON.parse(JSON.stringify(instead)))
    }
    return whole.body
  })
}
