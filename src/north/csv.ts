/**
 * Rows of text as CSV: separator `;`, quoting of RFC 4180, lines ended by `\n`. What a spreadsheet would run as a formula is made
 * harmless; numbers are never touched. It holds one batch at a time. Serves: Job and operation search (CSV).
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The types that a client may ask rows in. */
export type RowsType = 'application/json' | 'text/plain' | 'text/csv'

const FORMULA = /^[=+\-@\t\r]/
const NUMBER = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/
const QUOTED = /[;"\n\r]/

/** One cell. A text that begins like a formula gets an apostrophe before it, unless it is a number. */
export function cell(text: string | null): string {
  if (text === null) return ''
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** One line, with its end. */
export function line(cells: readonly (string | null)[]): string {
  return `${cells.map(cell).join(';')}\n`
}

/** What the client wants, by its `Accept`: JSON, unless a text is named before it or weighs more. */
export function wantedType({ headers }: FastifyRequest): RowsType {
  const wanted = (headers.accept ?? '*/*').split(',').map(part => {
    const [type = '', ...parameters] = part.split(';').map(each => each.trim().toLowerCase())
    const q = parameters.find(each => each.startsWith('q='))
    return { type, weight: q === undefined ? 1 : Number(q.slice(2)) || 0 }
  })
  const known = wanted.filter(
    ({ type, weight }) => weight > 0 && /^(application\/json|application\/\*|\*\/\*|text\/(plain|csv))$/.test(type),
  )
  const [best] = known.toSorted((a, b) => b.weight - a.weight)
  return best?.type === 'text/plain' || best?.type === 'text/csv' ? best.type : 'application/json'
}

/** Answers with a file of rows, as they come. A failure to find any rows is thrown, so that it can still be answered as an error. */
export async function sendCsv(
  reply: FastifyReply,
  type: RowsType,
  columns: readonly string[],
  batches: AsyncGenerator<(string | null)[][], void, void>,
): Promise<FastifyReply> {
  const first = await batches.next()
  async function* text(): AsyncGenerator<string, void, void> {
    try {
      yield line(columns)
      if (first.done) return
      yield first.value.map(line).join('')
      for await (const batch of batches) yield batch.map(line).join('')
    } finally {
      await batches.return()
    }
  }
  return reply
    .type(`${type}; charset=utf-8`)
    .header('content-disposition', 'attachment; filename=result.csv')
    .send(Readable.from(text()))
}
