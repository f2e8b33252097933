/** The other entries of this package, as they are: their sources, or what these were compiled to. */
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** A larger young generation, without which ten thousand devices need half as much memory again. */
export const SIMULATOR_FLAGS = ['--max-semi-space-size=16']

/** The path of an entry: `main`, `simulator/main`. */
export function entry(name: string): string {
  const here = fileURLToPath(import.meta.url)
  return path.join(path.dirname(here), '..', `${name}${path.extname(here)}`)
}
