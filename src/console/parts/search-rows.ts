/** Rows of a table that come from a search of the interface, page by page. */
import type { SearchBody } from '../../contract/client/client.ts'
import { type Ask, ask } from '../request.ts'
import type { PageAsked, Rows } from './row-places.ts'

/** A page as every search answers it, the rows under the name of what was searched. */
interface Found {
  readonly page: { readonly of: number; readonly cursor?: string }
}

/**
 * Rows of a search. `asked` makes the request for a body; `member` is what the rows stand under; `noun` is what forgets them. With a
 * `select` the rows hold that alone, while `whole` has all that there is.
 */
export function searchRows<Row>(
  noun: string,
  body: SearchBody,
  asked: (body: SearchBody) => Ask<unknown>,
  member: string,
  live = false,
  select?: SearchBody['select'],
): Rows<Row> & { readonly whole: Ask<unknown> } {
  const whole = asked(body)
  return {
    key: [noun, 'list', whole.name, whole.given],
    live,
    whole,
    read: async ({ number, size, cursor }: PageAsked, signal: AbortSignal) => {
      const limit = cursor === undefined ? { start: number, size } : { cursor, size }
      const found = (await ask(asked({ ...body, ...(select && { select }), limit }), signal)) as
        | (Found & Record<string, unknown>)
        | undefined
      return { rows: (found?.[member] ?? []) as readonly Row[], of: found?.page.of ?? 1, cursor: found?.page.cursor }
    },
  }
}

/** A text as the pattern that finds it anywhere. */
export const anywhere = (words: string): string => words.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
