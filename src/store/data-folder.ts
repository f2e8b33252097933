/**
 * The data folder of a single-machine service, which one living process holds: a second one is refused, and what a killed one held
 * is free at once. It knows nothing of what lies in the folder.
 */
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Unfit } from './unfit.ts'

export interface DataFolder {
  /** Absolute. */
  readonly path: string
  /** Lets go of the folder. Idempotent. */
  release(): void
}

const busy = 5

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === busy
}

/**
 * Makes a folder and those above it. Node's own way, `recursive`, tries for ever under a folder that takes none, such as `/proc`, and
 * says of a read-only one that it is missing.
 */
async function makeFolder(folder: string): Promise<void> {
  const parent = path.dirname(folder)
  if (!existsSync(parent)) await makeFolder(parent)
  await mkdir(folder, { mode: 0o711 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

/**
 * Holds a folder, made if there is none, until it is released or the process ends. Throws a clear word when another living process
 * holds it or when it cannot be written.
 *
 * The lock is SQLite's on an empty database file: Node has no lock of files of its own, and a file with a process number lies after
 * a kill, above all in a container, where every process has the same number.
 */
export async function holdDataFolder(folder: string): Promise<DataFolder> {
  const absolute = path.resolve(folder)
  const holderFile = path.join(absolute, 'holder')
  let lock: DatabaseSync
  try {
    await makeFolder(absolute)
    lock = new DatabaseSync(path.join(absolute, 'lock'), { timeout: 0 })
  } catch (error) {
    throw new Unfit(
      'file',
      `The data folder ${absolute} cannot be used: ${error instanceof Error ? error.message : error}`,
    )
  }
  try {
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    if (!isBusy(error)) throw error
    const holder = await readFile(holderFile, 'utf8').catch(() => 'another process')
    throw new Unfit(
      'database',
      `The data folder ${absolute} is held by ${holder.trim()}: stop it first, or choose another folder`,
    )
  }
  await chmod(path.join(absolute, 'lock'), 0o600)
  await writeFile(holderFile, `process ${process.pid} on ${hostname()}\n`)
  let held = true
  return {
    path: absolute,
    release() {
      if (held) lock.close()
      held = false
    },
  }
}
