/**
 * JSON Schema as TypeScript: what a schema lets pass, written as a type. Formats, lengths and ranges have no type and are left to
 * the service.
 */

/** The words of JSON Schema that shape a type. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

/** Types that have a name: by how they are written in full, the name. */
export type TypeNames = ReadonlyMap<string, string>

const PLAIN: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
}

const NONE: TypeNames = new Map()

/** The type of a schema, on one line; what has a name is written by its name. */
export function typeOf(schema: Schema, names: TypeNames = NONE): string {
  return names.get(definitionOf(schema)) ?? definitionOf(schema, names)
}

/** The same, but for the names of what it is made of: what stands behind the schema's own name. */
export function definitionOf(schema: Schema, names: TypeNames = NONE): string {
  const { $ref, enum: values, anyOf, oneOf, allOf, type } = schema
  if ($ref !== undefined) return $ref.split('/').at(-1)!
  if ('const' in schema) return JSON.stringify(schema.const)
  if (values !== undefined) return union(values.map(value => JSON.stringify(value)))
  const either = anyOf ?? oneOf
  if (either !== undefined) return union(either.map(each => typeOf(each, names)))
  if (allOf !== undefined) return allOf.map(each => grouped(typeOf(each, names))).join(' & ')
  if (typeof type === 'object') return union(type.map(each => definitionOf({ ...schema, type: each }, names)))
  if (type === 'array') return `${grouped(typeOf(schema.items ?? {}, names))}[]`
  if (type === 'object') return object(schema, names)
  return PLAIN[type ?? ''] ?? 'unknown'
}

function object(schema: Schema, names: TypeNames): string {
  const { properties = {}, required = [], patternProperties, additionalProperties } = schema
  const members = Object.entries(properties).map(([name, member]) => {
    const optional = required.includes(name) ? '' : '?'
    return `${comment(member.description)}${memberName(name)}${optional}: ${typeOf(member, names)}`
  })
  const open = patternProperties ? Object.values(patternProperties) : []
  if (additionalProperties === true) open.push({})
  else if (additionalProperties) open.push(additionalProperties)
  if (open.length > 0) {
    // An index signature speaks of the named members too.
    const known = Object.values(properties).map(member => typeOf(member, names))
    const optional = Object.keys(properties).some(name => !required.includes(name)) ? ['undefined'] : []
    members.push(`[name: string]: ${union([...open.map(each => typeOf(each, names)), ...known, ...optional])}`)
  }
  return members.length === 0 ? 'Record<string, never>' : `{ ${members.join('; ')} }`
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)]
  if (distinct.includes('unknown')) return 'unknown'
  return distinct.length === 1 ? distinct[0]! : distinct.map(grouped).join(' | ')
}

/** In brackets where an operator beside it would tear it apart. */
function grouped(type: string): string {
  let depth = 0
  for (const character of type.replace(/\/\*.*?\*\/|"[^"]*"/g, '')) {
    if ('{[('.includes(character)) depth += 1
    else if ('}])'.includes(character)) depth -= 1
    else if (depth === 0 && '|&'.includes(character)) return `(${type})`
  }
  return type
}

/** A member's name, quoted where it is no plain word. */
export function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

/** A comment that shows where the type is used; nothing without words. */
export function comment(words: string | undefined): string {
  return words === undefined ? '' : `/** ${words.replaceAll('*/', '*\\/')} */ `
}
