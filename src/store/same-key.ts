/** How a statement finds rows by the keys it was given. Refuses to know any table. */

export const OPERATION_KEY = ['job', 'partition', 'entity'] as const
export const ENTITY_KEY = ['partition', 'entity'] as const

/**
 * The condition that a row of `found` has the key of a row of `asked`, both aliases. In a transaction `byKey` the server can only look up
 * one `found` for each `asked`. By a plain `=` it may begin from the other side: a table that it counted while it was empty seems the
 * shorter one, and all that has come since would be compared with all that is asked for.
 */
export function sameKey(found: string, asked: string, columns: readonly string[] = OPERATION_KEY): string {
  return columns.map(column => `${found}.${column} = any(array[${asked}.${column}])`).join(' and ')
}
