/**
 * Compiles the service, the command line and the simulator to JavaScript in `lib`, for the packed package: Node takes no types away
 * inside `node_modules`. Types become blanks, so that every line keeps its number; what is meant stays where it is. The console has a
 * build of its own.
 */
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')
const source = path.join(root, 'src')
/** Beside `src`, at the same depth: what is found by its place, such as migrations, is found from here as well. */
const target = path.join(root, 'lib')

/** Specifiers of this package's own files, in imports and in addresses of workers. */
const OWN_SOURCE = /(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g

/** The JavaScript of a source. */
export function compiled(text: string): string {
  const blanked = stripTypeScriptTypes(text).replace(/[ \t]+$/gm, '')
  return blanked.replace(OWN_SOURCE, '$1$2.js$1')
}

/** Compiles everything anew. */
async function compileAll(): Promise<void> {
  await rm(target, { recursive: true, force: true })
  const files = (await readdir(source, { recursive: true })).filter(
    file => file.endsWith('.ts') && !file.endsWith('.d.ts') && !file.startsWith(`console${path.sep}`),
  )
  await Promise.all(
    files.map(async file => {
      const to = path.join(target, file.replace(/\.ts$/, '.js'))
      await mkdir(path.dirname(to), { recursive: true })
      await writeFile(to, compiled(await readFile(path.join(source, file), 'utf8')))
    }),
  )
  await chmod(path.join(target, 'cli/drover.js'), 0o755)
}

if (import.meta.main) await compileAll()
