/**
 * How SQL is written here: fixed statements with a name, and fragments composed at run time whose values are always bound.
 * Nothing in this file talks to a database, and nothing in it can put a value into the text of a statement.
 */

declare const rowType: unique symbol
declare const paramsType: unique symbol

/** One SQL statement with a fixed text. `Row` is the shape of one answer row, `Params` the tuple of its parameters. */
export interface Statement<Row, Params extends readonly unknown[] = readonly unknown[]> {
  /** Unique in the process; the server keeps the prepared statement under it. At most 63 bytes. */
  readonly name: string
  readonly text: string
  /** by parameter, from 0: the type of its elements where the text casts it to an array */
  readonly elementTypes: readonly (string | undefined)[]
  readonly [rowType]?: Row
  readonly [paramsType]?: (params: Params) => void
}

const declared: Statement<unknown>[] = []

/** Every statement declared so far, in order of declaration: a test has the server describe each one. */
export const statements: readonly Statement<unknown>[] = declared

/**
 * Declares one statement; call it at module level only, since each name stands for one text for ever.
 * Throws when the name is taken or longer than PostgreSQL's 63 bytes.
 */
export function statement<Row, Params extends readonly unknown[] = readonly unknown[]>(
  name: string,
  text: string,
): Statement<Row, Params> {
  if (name.length === 0 || Buffer.byteLength(name) > 63)
    throw new Error(`Statement name "${name}" is not 1 to 63 bytes`)
  if (declared.some(other => other.name === name)) throw new Error(`Statement "${name}" is declared twice`)
  const made = { name, text, elementTypes: elementTypesIn(text) }
  declared.push(made)
  return made
}

/** What `failsUnless` fails with: nothing else in the transactions that use it divides. */
export const FAILED_UNLESS = '22012'

/** SQL that fails with `22012` unless the condition holds: a statement that finds things otherwise than expected undoes its transaction. */
export function failsUnless(condition: string): string {
  return `1 / (${condition})::int`
}

function elementTypesIn(text: string): (string | undefined)[] {
  const types: (string | undefined)[] = []
  for (const [, number, type] of text.matchAll(/\$(\d+)::(\w+)\[\]/g)) types[Number(number) - 1] = type
  return types
}

const fragmentMark = Symbol('sql fragment')

/** A piece of SQL with its bound values. Only `sql` makes one: a value that came from outside can never pass for it. */
export interface SqlFragment {
  readonly [fragmentMark]: true
  /** One more than `values`; the placeholders stand between them. */
  readonly parts: readonly string[]
  readonly values: readonly unknown[]
}

function fragment(parts: readonly string[], values: readonly unknown[]): SqlFragment {
  return { [fragmentMark]: true, parts, values }
}

function isFragment(value: unknown): value is SqlFragment {
  return typeof value === 'object' && value !== null && fragmentMark in value
}

/** Weaves fragments and values between the literal parts into one flat fragment. */
function weave(literals: readonly string[], inserted: readonly unknown[]): SqlFragment {
  const parts: string[] = [literals[0] ?? '']
  const values: unknown[] = []
  inserted.forEach((value, index) => {
    const after = literals[index + 1] ?? ''
    if (isFragment(value)) {
      parts[parts.length - 1] += value.parts[0] ?? ''
      parts.push(...value.parts.slice(1))
      values.push(...value.values)
      parts[parts.length - 1] += after
    } else {
      values.push(value)
      parts.push(after)
    }
  })
  return fragment(parts, values)
}

function compose(literals: TemplateStringsArray, ...inserted: readonly unknown[]): SqlFragment {
  return weave(literals, inserted)
}

/** Joins fragments with a separator, `, ` unless told; no fragments give an empty fragment. */
function join(fragments: readonly SqlFragment[], separator: SqlFragment = fragment([', '], [])): SqlFragment {
  const inserted = fragments.flatMap((each, index) => (index === 0 ? [each] : [separator, each]))
  return weave(new Array<string>(inserted.length + 1).fill(''), inserted)
}

/** A quoted identifier, which must stand in the fixed list of `allowed` ones; throws otherwise. */
function identifier(name: string, allowed: readonly string[]): SqlFragment {
  if (!allowed.includes(name)) throw new Error(`"${name}" is not one of the identifiers allowed here`)
  return fragment([`"${name.replaceAll('"', '""')}"`], [])
}

/**
 * Composed SQL: `` sql`select id from job where ${condition} limit ${size}` ``. A nested fragment is woven in, everything else is
 * bound as a parameter; an array is bound as one array.
 */
export const sql = Object.assign(compose, { join, identifier, empty: fragment([''], []) })

/** The text with `$1 …` and the values to bind, as `pg` takes them. */
export function render(piece: SqlFragment): { text: string; values: unknown[] } {
  const text = piece.parts.reduce((soFar, part, index) => (index === 0 ? part : `${soFar}$${index}${part}`), '')
  return { text, values: [...piece.values] }
}
