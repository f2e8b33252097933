/**
 * A page as the text that is sent, row by row: what rows hold may be large, and a page of many such rows is refused before it fills the
 * memory. It knows no row.
 */

import type { FastifyReply } from 'fastify'
import type { PageView } from '../contract/operation.ts'
import { DroverError } from '../domain/errors.ts'

/** Characters of one page. */
const PAGE_LENGTH_MAX = 64 * 1_048_576

/** Rows read at once, so that what is in hand stays small beside the text. */
export const ROWS_AT_ONCE = 100

/** Gathers the rows of one page. */
export interface PageText {
  /**
   * Throws `searchTooExpensive` where the page becomes too long, never for its first row; `field` is what the client asked its length
   * with.
   */
  add(rows: Iterable<unknown>): void
  readonly rows: readonly string[]
}

export function createPageText(field: string): PageText {
  const rows: string[] = []
  let length = 0
  return {
    rows,
    add(more) {
      for (const row of more) {
        const text = JSON.stringify(row)
        length += text.length
        // Fewer rows than one cannot be asked for.
        if (length > PAGE_LENGTH_MAX && rows.length > 0) {
          const message = `The page is longer than ${PAGE_LENGTH_MAX} characters: ask for fewer rows, or for chosen fields.`
          throw new DroverError('searchTooExpensive', [{ name: field }], message)
        }
        rows.push(text)
      }
    },
  }
}

/** Sends `{"page":…,"<name>":[…]}`, or 204 where there are no rows. */
export function sendPage(reply: FastifyReply, page: PageView, name: string, rows: readonly string[]): FastifyReply {
  if (rows.length === 0) return reply.status(204).send()
  const text = `{"page":${JSON.stringify(page)},${JSON.stringify(name)}:[${rows.join(',')}]}`
  return reply.type('application/json; charset=utf-8').send(text)
}
