/** The console as it is built now, for tests: built anew where its sources are newer. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const root = path.resolve(import.meta.dirname, '../..')
const BUILT = path.join(root, 'dist/console/index.html')
const LOCK = path.join(root, 'dist/console-is-being-built')

/** Builds the console where its sources are newer than what was built; test files that run side by side take turns. */
export async function buildWhereOld(): Promise<void> {
  await mkdir(path.dirname(LOCK), { recursive: true })
  for (;;) {
    try {
      await mkdir(LOCK)
      break
    } catch {
      const since = await stat(LOCK).catch(() => null)
      if (since && Date.now() - since.mtimeMs > 60_000) await rm(LOCK, { recursive: true, force: true })
      await sleep(200)
    }
  }
  try {
    const built = (await stat(BUILT).catch(() => null))?.mtimeMs ?? 0
    if ((await newest('src/console', 'src/contract', 'vite.config.ts')) > built) {
      // As an operator builds it: a build within the tests would be one for development.
      const vite = path.join(root, 'node_modules/vite/bin/vite.js')
      const env = { ...process.env, NODE_ENV: 'production' }
      await promisify(execFile)(process.execPath, [vite, 'build', '--logLevel', 'error'], { cwd: root, env })
    }
  } finally {
    await rm(LOCK, { recursive: true, force: true })
  }
}

async function newest(...places: readonly string[]): Promise<number> {
  const times = await Promise.all(
    places.map(async place => {
      const at = path.join(root, place)
      const own = await stat(at)
      if (!own.isDirectory()) return own.mtimeMs
      const files = await readdir(at, { recursive: true })
      return Math.max(...(await Promise.all(files.map(async file => (await stat(path.join(at, file))).mtimeMs))))
    }),
  )
  return Math.max(...times)
}
