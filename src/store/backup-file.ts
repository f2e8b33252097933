/**
 * A backup as a compressed file, readable by its owner alone: it is there whole or not at all. It knows nothing of what is in it but the
 * records.
 */
import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { BrokenBackup, type ReadRecord, readRecords } from './backup-format.ts'
import { Unfit } from './unfit.ts'

/**
 * Has a backup written to a file beside the wanted one, which takes its place when everything is on the disk. Fails where something is
 * there already, leaving that and nothing else.
 */
export async function writeBackupFile<T>(
  file: string,
  produce: (write: (bytes: Buffer) => Promise<void>) => Promise<T>,
): Promise<T> {
  const unfinished = `${file}.${randomUUID()}.unfinished`
  // Taken first, so that nobody learns after an hour that the name is taken.
  const placeholder = await open(file, 'wx', 0o600).catch(refuseTaken(file))
  await placeholder.close()
  try {
    const zip = createGzip({ level: 1 })
    // Flushed to the disk before it is closed.
    const written = pipeline(zip, createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true }))
    const failed = written.then(
      () => new Promise<never>(() => {}),
      (error: unknown) => Promise.reject(error),
    )
    failed.catch(() => {})
    const write = (bytes: Buffer) =>
      Promise.race([
        failed,
        new Promise<void>(resolve => {
          if (zip.write(bytes)) resolve()
          else zip.once('drain', resolve)
        }),
      ])
    let result: T
    try {
      result = await produce(write)
    } catch (error) {
      zip.destroy()
      await written.catch(() => {})
      throw error
    }
    zip.end()
    await written
    await rename(unfinished, file)
    await syncFolder(path.dirname(file))
    return result
  } catch (error) {
    await rm(unfinished, { force: true })
    await rm(file, { force: true })
    throw error
  }
}

function refuseTaken(file: string): (error: NodeJS.ErrnoException) => never {
  return error => {
    if (error.code === 'EEXIST') throw new Unfit('file', `${file} is there already: name another file, or move it away`)
    throw new Unfit('file', `${file} cannot be written: ${error.message}`)
  }
}

/** The new name must be on the disk too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The records of a file from its beginning; `onBytes` is told of what has been read of it, compressed. */
export async function* readBackupFile(
  file: string,
  onBytes: (bytes: number) => void = () => {},
): AsyncGenerator<ReadRecord, void, void> {
  const zipped = createReadStream(file)
  zipped.on('data', chunk => onBytes(chunk.length))
  const unzip = createGunzip()
  const reading = pipeline(zipped, unzip)
  reading.catch(() => {})
  try {
    yield* readRecords(unzip as AsyncIterable<Buffer>)
    await reading
  } catch (error) {
    throw worded(file, error)
  } finally {
    zipped.destroy()
    unzip.destroy()
  }
}

function worded(file: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'Z_BUF_ERROR') return new BrokenBackup(`${file}: the backup breaks off before its end`)
  if (code.startsWith('Z_')) return new BrokenBackup(`${file}: the file is no backup, or it is damaged`)
  if (code === 'ENOENT') return new Unfit('file', `${file} is not there`)
  return error instanceof BrokenBackup ? new BrokenBackup(`${file}: ${error.message}`) : error
}
