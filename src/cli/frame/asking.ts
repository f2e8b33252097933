/** What is asked of who sits there: on the terminal, or read from standard input. It keeps nothing. */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text as readStream } from 'node:stream/consumers'
import type { Run } from './command.ts'
import { CommandFailed } from './exit-codes.ts'
import type { Surroundings } from './surroundings.ts'

/** The first lines of standard input; empty where there are fewer. */
export async function firstLines({ stdin }: Surroundings, count: number): Promise<string[]> {
  const lines = (await readStream(stdin)).split(/\r?\n/)
  return Array.from({ length: count }, (_, at) => lines[at] ?? '')
}

/** Asks on the terminal; a secret is not shown while it is typed. */
export async function ask({ surroundings }: Run, question: string, secret = false): Promise<string> {
  const { stdin, stderr, interrupted } = surroundings
  if (!stdin.isTTY) {
    const way = secret ? '--password-stdin reads the password from a pipe.' : 'Give --email.'
    throw new CommandFailed('usage', `There is no terminal to ask on. ${way}`)
  }
  let hidden = false
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!hidden) stderr.write(chunk)
      done()
    },
  })
  const lines = createInterface({ input: stdin, output, terminal: true })
  try {
    const answer = lines.question(question, { signal: interrupted })
    hidden = secret
    const given = await answer
    if (secret) stderr.write('\n')
    return given
  } finally {
    lines.close()
  }
}
