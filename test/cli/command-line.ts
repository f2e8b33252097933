/** The command line as tests run it: in their own process, with streams and an environment of their own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable, Writable } from 'node:stream'
import { afterAll } from 'vitest'
import { runCommandLine } from '../../src/cli/program.ts'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly stdin?: string
  /** whether standard input is a terminal that asks */
  readonly terminal?: boolean
  /** whether standard error is a terminal, on which somebody watches */
  readonly watched?: boolean
  readonly signal?: AbortSignal
}

/** A command line with a home folder of its own and whatever environment is given. */
export async function openCommandLine(given: Readonly<Record<string, string>> = {}) {
  const home = await mkdtemp(path.join(tmpdir(), 'drover-cli-'))
  afterAll(() => rm(home, { recursive: true, force: true }))
  return {
    /** where files of the test may lie */
    home,
    async run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
      const [stdout, stderr] = [collecting(), collecting()]
      const code = await runCommandLine(args, {
        env: { HOME: home, XDG_CONFIG_HOME: path.join(home, 'config'), ...given, ...options.env },
        stdin: Object.assign(Readable.from(options.stdin === undefined ? [] : [options.stdin]), {
          isTTY: options.terminal === true,
        }),
        stdout: stdout.stream,
        stderr: Object.assign(stderr.stream, { isTTY: options.watched === true }),
        interrupted: options.signal ?? new AbortController().signal,
      })
      return { code, stdout: stdout.text(), stderr: stderr.text() }
    },
  }
}

function collecting() {
  const chunks: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk))
      done()
    },
  })
  return { stream, text: () => chunks.join('') }
}
