/**
 * Entities in a file, read as they come and cut into bodies that the service takes one after another: CSV, a JSON document, or JSON
 * lines. A file of any length needs the memory of one body. It judges no value.
 */
import { ReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { CommandFailed } from '../../frame/exit-codes.ts'
import { jsonTexts } from './json-texts.ts'

export const ROW_FORMATS = ['csv', 'json', 'ndjson'] as const
export type RowFormat = (typeof ROW_FORMATS)[number]

/** One body, and how many entities are in it. */
export interface RowBatch {
  readonly body: string | { entities: Record<string, unknown>[] }
  readonly rows: number
}

/** The format that a file's name says; undefined where it says none. */
export function formatOf(file: string): RowFormat | undefined {
  const ending = file.split('.').at(-1)?.toLowerCase()
  if (ending === 'csv' || ending === 'tsv') return 'csv'
  return ending === 'jsonl' ? 'ndjson' : ROW_FORMATS.find(format => format === ending)
}

/**
 * The bodies of a file, or of standard input for `-`. Fails with a usage error on what is no such file. `passed` is told how much of a
 * file, from 0 to 1, has been read.
 */
export async function* rowBatches(
  file: string,
  format: RowFormat,
  size: number,
  stdin: Readable,
  passed: (share: number) => void = () => {},
): AsyncGenerator<RowBatch> {
  try {
    // Opened before it is a stream: what fails while nobody reads would end the process.
    const handle = file === '-' ? undefined : await open(file)
    const { size: bytes } = (await handle?.stat()) ?? { size: 0 }
    const source = handle?.createReadStream() ?? stdin
    if (source instanceof ReadStream) {
      source.on('data', () => passed(bytes === 0 ? 1 : source.bytesRead / bytes))
    }
    yield* format === 'csv' ? csvBatches(source, size) : jsonBatches(source, size)
  } catch (error) {
    if (error instanceof CsvError || error instanceof SyntaxError || isFileError(error)) {
      throw new CommandFailed('usage', `${file} cannot be read: ${error.message}`)
    }
    throw error
  }
}

function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

/** The rows under the ids of the first line, written again as they were. */
async function* csvBatches(source: Readable, size: number): AsyncGenerator<RowBatch> {
  let head = ''
  let lines: string[] = []
  const body = () => `${head}\n${lines.join('\n')}\n`
  for await (const cells of await csvCells(source)) {
    const line = cells.map(quoted).join(';')
    if (head === '') head = line
    else lines.push(line)
    if (lines.length < size) continue
    yield { body: body(), rows: lines.length }
    lines = []
  }
  if (lines.length > 0) yield { body: body(), rows: lines.length }
}

const SEPARATORS = [';', ',', '\t'] as const
/** Characters of the line of ids, which says what separates. */
const HEAD_MAX = 100_000

/** The cells of every line, separated by what the first line has most of. */
async function csvCells(source: Readable): Promise<AsyncIterable<string[]>> {
  source.setEncoding('utf8')
  const chunks = (source as AsyncIterable<string>)[Symbol.asyncIterator]()
  let begun = ''
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    begun += next.value
    if (/[\r\n]/.test(begun) || begun.length > HEAD_MAX) break
  }
  const head = begun.split(/[\r\n]/)[0] ?? ''
  const counted = SEPARATORS.map(each => ({ each, count: head.split(each).length }))
  const delimiter = counted.reduce((most, other) => (other.count > most.count ? other : most)).each
  async function* whole() {
    yield begun
    yield* { [Symbol.asyncIterator]: () => chunks }
  }
  const parser = parse({ bom: true, delimiter, relax_column_count: true, skip_empty_lines: true })
  const text = Readable.from(whole())
  text.on('error', error => parser.destroy(error))
  text.pipe(parser)
  return parser as AsyncIterable<string[]>
}

const quoted = (cell: string) => (/[;,\t"\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** The elements of an array, of `{"entities": […]}`, or the documents of a file of JSON lines. */
async function* jsonBatches(source: Readable, size: number): AsyncGenerator<RowBatch> {
  let entities: Record<string, unknown>[] = []
  for await (const text of jsonTexts(source)) {
    entities.push(JSON.parse(text))
    if (entities.length < size) continue
    yield { body: { entities }, rows: entities.length }
    entities = []
  }
  if (entities.length > 0) yield { body: { entities }, rows: entities.length }
}
