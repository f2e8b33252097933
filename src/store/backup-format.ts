/**
 * What a backup is made of, one record after the other: a line of JSON, and the bytes that it announces. The last one holds a checksum
 * of everything before it. It knows neither files nor databases.
 */
import { createHash } from 'node:crypto'

/** The first record: what the backup is of. */
export interface BackupHeader {
  readonly drover: 'backup'
  readonly format: 1
  readonly createdAt: string
  /** of the server that it was taken from */
  readonly postgres: string
  /** every migration that had run there, in order */
  readonly migrations: readonly { readonly name: string; readonly sha256: string }[]
  /** months of ended operations, `2026_11` */
  readonly months: readonly string[]
  /** in the order in which they can be filled */
  readonly tables: readonly string[]
}

/** What follows it: each table with its chunks and its count of rows, then the sequences, then the checksum. */
export type BackupRecord =
  | { readonly table: string; readonly columns: readonly string[] }
  | { readonly bytes: number }
  | { readonly rows: number }
  | { readonly sequence: string; readonly value: string; readonly called: boolean }
  | { readonly sha256: string }

/** One record as it is read, with its bytes where it has any. */
export interface ReadRecord {
  readonly record: Exclude<BackupRecord, { readonly bytes: number }> | BackupHeader | { readonly chunk: Buffer }
}

const LINE_BYTES_MAX = 16_000_000
const CHUNK_BYTES_MAX = 16_000_000

export const BACKUP_FORMAT = 1

/** A file that is no backup, or not all of one. */
export class BrokenBackup extends Error {
  override readonly name = 'BrokenBackup'
}

/** Writes records and remembers their checksum. */
export function backupWriter(write: (bytes: Buffer) => Promise<void>) {
  const hash = createHash('sha256')

  async function line(record: BackupRecord | BackupHeader): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(record)}\n`)
    hash.update(bytes)
    await write(bytes)
  }

  return {
    line,
    async chunk(bytes: Buffer): Promise<void> {
      for (let from = 0; from < bytes.length; from += CHUNK_BYTES_MAX) {
        const part = bytes.subarray(from, from + CHUNK_BYTES_MAX)
        await line({ bytes: part.length })
        hash.update(part)
        await write(part)
      }
    },
    /** Writes the last record. */
    async end(): Promise<void> {
      await write(Buffer.from(`${JSON.stringify({ sha256: hash.digest('hex') } satisfies BackupRecord)}\n`))
    },
  }
}

/**
 * Reads records to the last one and compares the checksum. Fails with a `BrokenBackup` where the bytes are no backup, end too soon or
 * are not those that were written. What it yields before that is not yet known to be whole.
 */
export async function* readRecords(source: AsyncIterable<Buffer>): AsyncGenerator<ReadRecord, void, void> {
  const hash = createHash('sha256')
  const reader = lineReader(source)
  for (let isFirst = true; ; isFirst = false) {
    const line = await reader.line()
    if (line === undefined)
      throw new BrokenBackup(isFirst ? 'The file is empty' : 'The backup breaks off before its end')
    const record = parse(line, isFirst)
    if ('sha256' in record) {
      const found = hash.digest('hex')
      if (record.sha256 !== found) {
        throw new BrokenBackup(`The backup is damaged: its checksum is ${found}, and was ${record.sha256} when written`)
      }
      if ((await reader.line()) !== undefined) throw new BrokenBackup('Something follows the end of the backup')
      return
    }
    hash.update(line)
    if ('bytes' in record) {
      if (!(record.bytes > 0 && record.bytes <= CHUNK_BYTES_MAX)) throw new BrokenBackup('The backup is damaged')
      const chunk = await reader.take(record.bytes)
      if (chunk === undefined) throw new BrokenBackup('The backup breaks off before its end')
      hash.update(chunk)
      yield { record: { chunk } }
    } else yield { record }
  }
}

function parse(line: Buffer, isFirst: boolean): BackupRecord | BackupHeader {
  let record: unknown
  try {
    record = JSON.parse(line.toString())
  } catch {
    record = null
  }
  if (typeof record !== 'object' || record === null) throw new BrokenBackup('The file is no backup, or it is damaged')
  if (!isFirst) return record as BackupRecord
  const { drover, format } = record as Partial<BackupHeader>
  if (drover !== 'backup') throw new BrokenBackup('The file is no backup')
  if (format !== BACKUP_FORMAT) {
    throw new BrokenBackup(
      `The backup has format ${format}, this build reads ${BACKUP_FORMAT}: use the build that wrote it, or a later one`,
    )
  }
  return record as BackupHeader
}

/** Lines and counted bytes out of chunks of any size. */
function lineReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)

  async function more(): Promise<boolean> {
    const { done, value } = await chunks.next()
    if (done) return false
    held = held.length === 0 ? value : Buffer.concat([held, value])
    return true
  }

  return {
    /** a line with its end; undefined at the end of the source */
    async line(): Promise<Buffer | undefined> {
      for (;;) {
        const end = held.indexOf(10)
        if (end >= 0) {
          const line = held.subarray(0, end + 1)
          held = held.subarray(end + 1)
          return line
        }
        if (held.length > LINE_BYTES_MAX) throw new BrokenBackup('The file is no backup, or it is damaged')
        if (!(await more())) return undefined
      }
    },
    async take(count: number): Promise<Buffer | undefined> {
      while (held.length < count) if (!(await more())) return undefined
      const taken = held.subarray(0, count)
      held = held.subarray(count)
      return taken
    },
  }
}
