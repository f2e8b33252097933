/**
 * Says what is wrong with parameters: every field at fault, by the path under which the client sent it. Of a choice it names what the
 * alternative lacks that fits best. Refuses to judge. Serves: Operation type (parameter schema), Errors.
 */
import type { ErrorObject } from 'ajv'
import type { ErrorContext } from '../domain/errors.ts'
import { followed } from '../domain/parameter-schema.ts'

/** Most fields that a refusal names. */
const CONTEXT_MAX = 20

/** Keywords whose own error follows those of the schemas in them, and says it better than any of these. */
const BETTER_THAN_PARTS = ['contains', 'propertyNames']
const CHOICES = ['anyOf', 'oneOf']
/** Members that a schema asks for, or does not want, each told by an error of its own. */
const OF_A_MEMBER: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  dependencies: 'missingProperty',
  dependentRequired: 'missingProperty',
  additionalProperties: 'additionalProperty',
  unevaluatedProperties: 'unevaluatedProperty',
  propertyNames: 'propertyName',
}

/** The fields that errors by a schema are about, each once, with the reason; `field` is the path of the parameters. */
export function contextOf(errors: readonly ErrorObject[], schema: unknown, field: string): ErrorContext[] {
  const context = new Map<string, ErrorContext>()
  for (const error of settled(errors, schema)) {
    const name = fieldOf(error, field)
    if (!context.has(name)) context.set(name, { name, value: reasonOf(error) })
    if (context.size === CONTEXT_MAX) break
  }
  return context.size > 0 ? [...context.values()] : [{ name: field }]
}

/** The errors without those that only led to another: of every choice one is left. */
function settled(errors: readonly ErrorObject[], root: unknown): ErrorObject[] {
  const left: ErrorObject[] = []
  const within = new Map<unknown, Set<unknown>>()
  for (const error of errors) {
    const isChoice = CHOICES.includes(error.keyword)
    // What `then` or `else` asks for has said it already.
    if (error.keyword === 'if') continue
    if (!isChoice && !BETTER_THAN_PARTS.includes(error.keyword)) {
      left.push(error)
      continue
    }
    const parts = within.get(error.schema) ?? valuesWithin(error.schema, root)
    within.set(error.schema, parts)
    let first = left.length
    while (first > 0 && parts.has(left[first - 1]!.parentSchema)) first -= 1
    const [deepest] = left.splice(first).toSorted((a, b) => depthOf(b) - depthOf(a))
    const fitsTwice = Array.isArray(error.params.passingSchemas)
    left.push(isChoice && deepest && !fitsTwice ? deepest : error)
  }
  return left
}

/** Every object and list in a schema, references followed. */
function valuesWithin(schema: unknown, root: unknown): Set<unknown> {
  const found = new Set<unknown>()
  const open = [schema]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null || found.has(next)) continue
    found.add(next)
    open.push(...Object.values(next))
    if ('$ref' in next) open.push(followed(next.$ref, root))
  }
  return found
}

/** How close an error is to what is wrong: of the branches of a choice, the one that was followed furthest. */
const depthOf = (error: ErrorObject) => error.instancePath.split('/').length + (memberOf(error) === undefined ? 0 : 1)

/** A field as the client would write it: `job.request.parameters.list[0].name`. */
function fieldOf(error: ErrorObject, field: string): string {
  const names = error.instancePath.split('/').slice(1)
  const path = names.map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const member = memberOf(error)
  if (member !== undefined) path.push(member)
  return path.reduce((at, name) => (/^\d+$/.test(name) ? `${at}[${name}]` : `${at}.${name}`), field)
}

/** The member of the value that an error is about, where it is about one. */
function memberOf({ keyword, params }: ErrorObject): string | undefined {
  const name = OF_A_MEMBER[keyword]
  return name === undefined ? undefined : String(params[name])
}

function reasonOf({ keyword, params, message }: ErrorObject): string {
  const allowed = keyword === 'enum' ? (params.allowedValues as unknown[]).join(', ') : ''
  if (allowed !== '' && allowed.length <= 300) return `must be one of ${allowed}`
  return message ?? 'is not valid'
}
