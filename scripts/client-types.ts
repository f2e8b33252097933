/**
 * The OpenAPI document of the client interface as one type: every operation with its parameters, body and answer. The device
 * interface is left out: devices speak it, clients do not.
 */
import { comment, definitionOf, memberName, type Schema, type TypeNames, typeOf } from './types-of-schema.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Schema
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>
interface Operation {
  readonly summary?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
/** The parts of an OpenAPI 3.1 document that are read. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const OPENING = `/**
 * Every operation of the client interface with its parameters, body and answer, as types. Generated from the OpenAPI document by
 * \`npm run generate:client\`; changes belong into the schemas of the contract.
 */
`
const PREFIX = '/north/v80'
const PLACES = ['path', 'query', 'header'] as const
/** What authentication adds to every request by itself. */
const GIVEN_HEADERS = ['x-apikey', 'authorization']

/** Writes the module. `named` are schemas whose types get a name; those that no address speaks of are left out. */
export function clientTypes(document: OpenApiDocument, named: ReadonlyMap<string, Schema>): string {
  const known = new Map([...Object.entries(document.components.schemas), ...named])
  const names: TypeNames = new Map([...known].reverse().map(([name, schema]) => [definitionOf(schema), name]))
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  )
  const described = operations
    .filter(([name]) => name.includes(` ${PREFIX}/`))
    .map(([name, operation]) => operationType(name.replace(PREFIX, ''), operation, names))
  const body = `/** What each operation is given, and what it answers. */\nexport interface Operations {\n${described.join('\n')}\n}\n`
  const types = [...known].map(([name, schema]) => [name, definitionOf(schema, names), schema.description] as const)
  const spoken = types
    .filter(([name]) => name in document.components.schemas || spokenOf(body, types).has(name))
    .map(([name, type, description]) => {
      const words = comment(description)
      return `${words && `${words.trim()}\n`}export type ${name} = ${type}\n`
    })
  return [OPENING, ...spoken, body].join('\n')
}

/** The names that a text speaks of, itself or by the types it names. */
function spokenOf(text: string, types: readonly (readonly [name: string, type: string, ...unknown[]])[]): Set<string> {
  const spoken = new Set<string>()
  const read = (words: string) => {
    const found = new Set(words.replace(/\/\*.*?\*\/|"[^"]*"/g, '').match(/\b[A-Z]\w*/g))
    for (const [name, type] of types) {
      if (!found.has(name) || spoken.has(name)) continue
      spoken.add(name)
      read(type)
    }
  }
  read(text)
  return spoken
}

function operationType(
  name: string,
  { parameters = [], requestBody, responses, summary }: Operation,
  names: TypeNames,
): string {
  const members = PLACES.flatMap(place => placeType(place, parameters, names))
  if (requestBody)
    members.push(`body${requestBody.required === true ? '' : '?'}: ${contentType(requestBody.content, names)}`)
  const answers = Object.entries(responses).flatMap(([status, { content }]) =>
    status.startsWith('2') ? [content ? contentType(content, names) : 'undefined'] : [],
  )
  members.push(`answer: ${[...new Set(answers)].join(' | ')}`)
  return `  ${summary === undefined ? '' : `${comment(summary).trim()}\n  `}${JSON.stringify(name)}: { ${members.join('; ')} }`
}

/** Query parameters and headers may be given as undefined, which leaves them out. */
function placeType(place: 'path' | 'query' | 'header', parameters: readonly Parameter[], names: TypeNames): string[] {
  const here = parameters.filter(each => each.in === place && !GIVEN_HEADERS.includes(each.name.toLowerCase()))
  if (here.length === 0) return []
  const members = here.map(({ name, required, description, schema = {} }) => {
    const [mark, none] = required === true ? ['', ''] : ['?', ' | undefined']
    return `${comment(description ?? schema.description)}${memberName(name)}${mark}: ${typeOf(schema, names)}${none}`
  })
  return [`${place}${here.some(({ required }) => required === true) ? '' : '?'}: { ${members.join('; ')} }`]
}

/** JSON is a value, everything else a text. */
function contentType(content: Content, names: TypeNames): string {
  const kinds = Object.entries(content).map(([kind, { schema = {} }]) =>
    kind === 'application/json' ? typeOf(schema, names) : 'string',
  )
  return [...new Set(kinds)].join(' | ')
}
