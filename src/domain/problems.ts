/**
 * What a reader of client input answers: the value, or every problem found in it, each with the path of its field.
 * It knows neither error codes nor HTTP; whoever answers the client maps a problem's kind to a code.
 */

/**
 * One thing wrong with one field. `path` is the field as the client wrote it (`schedule.window.weekly[0].daily.stop`),
 * `message` a plain sentence without the path. `kind` says `unknown` for a member that does not exist in the interface
 * and `missing` for one that is required; `filter` breaks the grammar of filters; any other problem with a value is `invalid`.
 */
export type Problem = {
  readonly path: string
  readonly message: string
  readonly kind: 'invalid' | 'missing' | 'unknown' | 'filter'
}

/** The value read, or the problems that keep it from being read: at least one. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** The value if nothing was found wrong with it, else the problems. A reader that has no value must have a problem. */
export function parsed<T>(value: T | undefined, problems: readonly Problem[]): Parsed<T> {
  if (problems.length > 0) return { ok: false, problems }
  if (value === undefined) throw new Error('A reader gave neither a value nor a problem.')
  return { ok: true, value }
}
