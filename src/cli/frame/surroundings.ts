/** What a run of the command line stands in: its streams, its environment and the signal that ends it. Tests give their own. */
import { homedir } from 'node:os'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'

type Screen = Writable & { readonly isTTY?: boolean; readonly columns?: number }

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Screen
  readonly stderr: Screen
  /** aborted when the user interrupts */
  readonly interrupted: AbortSignal
}

/** Those of this process. */
export function processSurroundings(): Surroundings {
  const interruption = new AbortController()
  process.once('SIGINT', () => {
    interruption.abort()
    // What does not listen to the first interruption ends with the second.
    process.once('SIGINT', () => process.exit(130))
  })
  return {
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    interrupted: interruption.signal,
  }
}

/** The folder of the user's settings, by the XDG Base Directory Specification. */
export function settingsFolder(env: Surroundings['env']): string {
  const given = env.XDG_CONFIG_HOME
  // A relative path is to be ignored, says the specification.
  const base = given && path.isAbsolute(given) ? given : path.join(env.HOME || homedir(), '.config')
  return path.join(base, 'drover')
}
