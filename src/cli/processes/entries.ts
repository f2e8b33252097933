/** The other entries of this package: where they are, as sources or compiled, and the Node that runs them. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { CommandFailed } from '../frame/exit-codes.ts'

/** A larger young generation, without which ten thousand devices need half as much memory again. */
export const SIMULATOR_FLAGS = ['--max-semi-space-size=16']

const here = fileURLToPath(import.meta.url)

/** The path of an entry: `main`, `simulator/main`. */
export function entry(name: string): string {
  return path.join(path.dirname(here), '../..', `${name}${path.extname(here)}`)
}

/** What people type for this command line: in a checkout it is not on the path. */
export const TYPED = path.extname(here) === '.ts' ? 'npm run -s drover --' : 'drover'

/** The oldest Node that has all that the service stands on; the commands that only ask a service run on older ones. */
const SERVICE_NODE = [22, 13] as const

/**
 * The Node that runs a service: this one where it is new enough, else the one that is installed beside this package. Fails with a
 * clear word where there is neither.
 */
export function serviceNode(version = process.versions.node): string {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > SERVICE_NODE[0] || (major === SERVICE_NODE[0] && minor >= SERVICE_NODE[1])) return process.execPath
  try {
    const folder = path.dirname(createRequire(import.meta.url).resolve('node/package.json'))
    return path.join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch {
    const wanted = SERVICE_NODE.join('.')
    throw new CommandFailed(
      'failed',
      `A service needs Node ${wanted} or newer; this is ${version}, and the package "node" is not beside it.`,
    )
  }
}
