/** One variable that an operator may set: its name, its default, what it means and how it is read. */
import type { Parser } from './values.ts'

export interface Variable<T, Default extends string | null> {
  readonly name: string
  /** As an operator would write it; null where the variable may be left unset and the value is then null. */
  readonly default: Default
  readonly meaning: string
  readonly parse: Parser<T>
  /** Its value is never repeated in an error. */
  readonly secret: boolean
}

export function row<T, Default extends string | null>(
  name: string,
  fallback: Default,
  parse: Parser<T>,
  meaning: string,
  options: { secret?: boolean } = {},
): Variable<T, Default> {
  return { name, default: fallback, meaning, parse, secret: options.secret ?? false }
}
