/** The reference of the interface, printed from the document that the service gives of itself: calls, members, answers. */
import { interfaceDocument } from './interface-document.ts'

interface Schema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly title?: string
}
interface Call {
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security?: readonly object[]
  readonly parameters?: readonly {
    readonly in: string
    readonly name: string
    readonly required?: boolean
    readonly description?: string
    readonly schema?: Schema
  }[]
  readonly requestBody?: { readonly content?: Content }
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>

const OPENING = `# Interface

What clients and devices call, printed from the document that a running service gives of itself: \`/openapi.json\` for programs, \`/docs\` to read,
with an example of each body.

- An address under \`/north\` is served without that prefix as well.
- Clients send \`X-ApiKey\`, or \`Authorization: Bearer\` with the token of a login; devices send \`X-ApiKey\`. Who may do what:
  [concepts](../concepts.md#who-sees-what).
- Bodies are JSON in UTF-8; a member that does not exist is refused by name. What a device says may have members that nobody knows.
- What is not a success has [the body of an error](errors.md), whatever the call; the statuses named here are those of success. 204 is an empty
  search or listing.
- Instants are ISO 8601 in UTC, spans milliseconds.

What devices say and are told stands, with its order, in the [device protocol](device-protocol.md); streams in [live events](live-events.md);
what the service calls in [notifications](notifications.md); filters in [the fields of searches](search-fields.md).
`

/** Where kinds of entities have the same calls: these are told once, for all of them. */
const KINDS = [
  /^(\/north\/v80\/provision\/organizations\/\{organization\}\/)(devices|assets|subscriptions|subscribers|communicationsModules|entities)(?=\/|$)/,
  /^(\/north\/v80\/search\/entities\/)(devices|assets|subscribers|subscriptions|communicationsModules)(?=\/|$)/,
]

/** Writes the page. */
export async function interfacePage(): Promise<string> {
  const document = (await interfaceDocument()) as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Call>>>>
    readonly tags: readonly { readonly name: string; readonly description: string }[]
  }
  const calls = new Map<string, { readonly call: Call; readonly kinds: string[] }>()
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, call]) => ({ method: method.toUpperCase(), path, call })),
  )
  const folded = (path: string) => KINDS.reduce((text, pattern) => text.replace(pattern, '$1{kind}'), path)
  for (const { method, path, call } of all) {
    const alike = all.filter(each => each.method === method && folded(each.path) === folded(path))
    const name = `${method} ${alike.length > 1 ? folded(path) : path}`
    const kind = KINDS.map(pattern => pattern.exec(path)?.[2]).find(each => each !== undefined)
    const known = calls.get(name)
    if (known) known.kinds.push(kind ?? '')
    else calls.set(name, { call, kinds: alike.length > 1 ? [kind ?? ''] : [] })
  }
  const about = new Map(document.tags.map(({ name, description }) => [name, description]))
  const tags = [...new Set([...about.keys(), ...all.flatMap(({ call }) => call.tags)])]
  const seen = new Map<string, string>()
  return [
    OPENING,
    ...tags.map(tag =>
      [
        `## ${sentence(tag)}\n`,
        ...(about.has(tag) ? [`${about.get(tag)}\n`] : []),
        ...[...calls]
          .filter(([, { call }]) => call.tags[0] === tag)
          .flatMap(([name, { call, kinds }]) => section(name, call, kinds, seen)),
      ].join('\n'),
    ),
  ].join('\n')
}

/** What every call may carry: who asks. */
const CREDENTIALS = ['x-apikey', 'authorization']

function section(name: string, call: Call, kinds: readonly string[], seen: Map<string, string>): string[] {
  const summary = kinds.length > 0 ? call.summary.replace(/: \w+$/, '') : call.summary
  const told = [
    ...[summary, call.description].filter(each => each !== undefined).map(ended),
    ...(call.security?.length === 0 ? ['It takes no credentials.'] : []),
  ]
  const given = (call.parameters ?? []).filter(
    each => each.in !== 'path' && !CREDENTIALS.includes(each.name.toLowerCase()),
  )
  const rows = given.map(
    each =>
      `| \`${each.name}\`${required(each.required)} | ${each.in} | ${kindOf(each.schema)} | ${cell(each.description, each.schema)} |`,
  )
  const success = Object.entries(call.responses).filter(([status]) => status.startsWith('2'))
  return [
    `### ${name}\n`,
    `${told.join(' ')}\n`,
    ...(kinds.length > 0 ? [`\`{kind}\` is one of \`${kinds.join('`, `')}\`.\n`] : []),
    ...(rows.length > 0 ? [`| parameter | in | type | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`] : []),
    ...members('body', call.requestBody?.content, name, seen),
    ...success.flatMap(([status, answer]) => {
      const shown = members(`answer ${status}`, answer.content, name, seen)
      return shown.length > 0 ? shown : [`Answer ${status}${forms(answer.content)}.\n`]
    }),
  ]
}

const JSON_TYPE = 'application/json'

/** The members of a body, or where the same ones stand already. */
function members(what: string, content: Content | undefined, title: string, seen: Map<string, string>): string[] {
  const schema = content?.[JSON_TYPE]?.schema
  if (!schema) return []
  const others = Object.keys(content ?? {}).filter(each => each !== JSON_TYPE)
  const also = others.length > 0 ? [`Also as \`${others.join('`, `')}\`.\n`] : []
  const rows = rowsOf(schema, '', 0)
  if (rows.length === 0) return []
  const table = rows.join('\n')
  const before = seen.get(table)
  if (before !== undefined && rows.length > 3) return [`${sentence(what)}: as ${before}.\n`, ...also]
  seen.set(table, `the ${what.replace(/ \d+$/, '')} of \`${title}\``)
  return [`| ${what} | type | meaning |\n|---|---|---|\n${table}\n`, ...also]
}

const DEPTH_MAX = 8

/** `isOneForm`: of several that a value may have, so that nothing in it is required of all. */
function rowsOf(schema: Schema, above: string, depth: number, isOneForm = false): string[] {
  if (depth > DEPTH_MAX) return []
  if (schema.type === 'array' && schema.items) return rowsOf(schema.items, `${above}[]`, depth + 1, isOneForm)
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const path = above === '' ? name : `${above}.${name}`
    const row = `| \`${path}\`${required(!isOneForm && schema.required?.includes(name))} | ${kindOf(member)} | ${cell(member.description, member)} |`
    const forms = [...(member.anyOf ?? []), ...(member.oneOf ?? [])]
    const isOne = forms.filter(each => each.type !== 'null').length > 1
    const within = [...rowsOf(member, path, depth + 1), ...forms.flatMap(each => rowsOf(each, path, depth + 1, isOne))]
    return [...new Set([row, ...within])]
  })
}

const WORDS: Readonly<Record<string, string>> = { string: 'text', integer: 'whole number', null: 'null' }

function kindOf(schema: Schema | undefined): string {
  if (!schema) return 'any'
  if (schema.const !== undefined) return `\`${String(schema.const)}\``
  if (schema.enum) return schema.enum.map(each => `\`${String(each)}\``).join(', ')
  const some = schema.anyOf ?? schema.oneOf
  if (some) return [...new Set(some.map(kindOf))].join(' or ')
  if (schema.type === 'array') return `list of ${kindOf(schema.items)}`
  return schema.type === undefined ? 'any' : (WORDS[schema.type] ?? schema.type)
}

const cell = (description: string | undefined, schema: Schema | undefined) =>
  [description, schema?.default === undefined ? undefined : `\`${JSON.stringify(schema.default)}\` unless told`]
    .filter(each => each !== undefined)
    .join('; ')
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
const required = (is: boolean | undefined) => (is ? ' (required)' : '')
const sentence = (text: string) => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`
const ended = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`)
const forms = (content: Content | undefined) => {
  const kinds = Object.keys(content ?? {})
  return kinds.length === 0 ? ', without a body' : `: \`${kinds.join('`, `')}\``
}
