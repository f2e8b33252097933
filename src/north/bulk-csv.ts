/**
 * Reads entities out of a CSV body of any length, a row at a time: the first line names the ids, each further one is an entity in the
 * flattened form. It judges no value.
 */
import { Readable } from 'node:stream'
import { CsvError, type Parser, parse } from 'csv-parse'
import { type Reading, read, refuse } from '../contract/reading.ts'
import { dataModelEntry } from '../domain/data-model.ts'
import { isListId } from '../domain/entity-form.ts'
import { DroverError } from '../domain/errors.ts'

/** Characters of one row. */
const ROW_LENGTH_MAX = 300_000
const SEPARATORS = [';', ',', '\t'] as const

/**
 * The rows as bodies in the flattened form. Separated by semicolons, commas or tabs, whichever the first line uses; an empty cell says
 * nothing. A row of too many cells is an answer; a body that is no CSV fails with `malformed`, after the rows before the fault.
 */
export async function* csvEntities(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Reading<Record<string, unknown>>> {
  const { separator, whole } = await separatorOf(chunks)
  const source = Readable.from(whole)
  const parser = parse({
    bom: true,
    delimiter: separator,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: ROW_LENGTH_MAX,
  })
  source.on('error', error => parser.destroy(error))
  source.pipe(parser)
  try {
    yield* bodiesIn(parser)
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw new DroverError('malformed', [{ name: 'body', value: error.message }])
  } finally {
    source.destroy()
    parser.destroy()
  }
}

async function* bodiesIn(parser: Parser): AsyncGenerator<Reading<Record<string, unknown>>> {
  let ids: readonly string[] | undefined
  for await (const record of parser) {
    const cells: readonly string[] = record
    if (ids === undefined) ids = cells.map(id => id.trim())
    else yield bodyOf(ids, cells)
  }
  if (ids === undefined) throw new DroverError('malformed', [{ name: 'body', value: 'has no line of ids' }])
}

function bodyOf(ids: readonly string[], cells: readonly string[]): Reading<Record<string, unknown>> {
  if (cells.length > ids.length) return refuse('', `has ${cells.length} cells under ${ids.length} ids`)
  const values = new Map<string, unknown>()
  for (const [at, cell] of cells.entries()) {
    const id = ids[at]!
    if (cell === '') continue
    const value = cellValue(id, cell)
    const before = values.get(id)
    if (!isListId(id)) values.set(id, value)
    else if (Array.isArray(before)) before.push(value)
    else values.set(id, [value])
  }
  return read(Object.fromEntries(values))
}

/** A cell is a text, but for the ids that hold more than one: these are JSON, or texts with commas between them. */
function cellValue(id: string, cell: string): unknown {
  const type = dataModelEntry(id)?.type
  const isJson =
    (type === 'texts' && cell.startsWith('[')) || ((type === 'object' || type === 'model') && cell.startsWith('{'))
  if (isJson) {
    try {
      return JSON.parse(cell)
    } catch {
      return cell
    }
  }
  return type === 'texts' ? cell.split(',').map(text => text.trim()) : cell
}

/** Looks at the first line, and gives the body back whole. */
async function separatorOf(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ separator: string; whole: AsyncIterable<Uint8Array> }> {
  const iterator = chunks[Symbol.asyncIterator]()
  const seen: Uint8Array[] = []
  let line = ''
  while (!line.includes('\n') && line.length < ROW_LENGTH_MAX) {
    const { value, done } = await iterator.next()
    if (done) break
    seen.push(value)
    line += Buffer.from(value).toString('latin1')
  }
  const [header] = line.split('\n')
  const counted = SEPARATORS.map(separator => ({ separator, count: header!.split(separator).length }))
  const [{ separator }] = counted.sort((a, b) => b.count - a.count) as [(typeof counted)[number]]
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield* seen
    yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return { separator, whole: whole() }
}
