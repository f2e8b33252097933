/**
 * How a command is declared: its words, its options, its examples and what it does. What is the same for all is here: options, sessions,
 * failures and exit codes. The tree of commands is what help, completion and reference are made of.
 */
import { Command } from 'commander'
import type { Client } from '../../contract/client/client.ts'
import { type ExitName, exitOf } from './exit-codes.ts'
import { tellFailure } from './failures.ts'
import { createOutput, type Output } from './output.ts'
import { openSession, type Session } from './session.ts'
import type { Surroundings } from './surroundings.ts'

/** A line that works as it stands, and what it is for. Tests run every one. */
export interface Example {
  readonly line: string
  readonly meaning: string
}

/** What every run of a command has. */
export interface Run {
  readonly surroundings: Surroundings
  readonly out: Output
  /** The values of its options, by their names. */
  readonly options: Readonly<Record<string, unknown>>
  /** The service and who asks; opened when first asked for. */
  session(): Promise<Session>
}

/** What a command does with its arguments; answers how it ended, where that is not `done`. */
export type Action = (run: Run, ...args: string[]) => Promise<ExitName | undefined>

export interface CommandWords {
  /** its name and arguments: `show <job>` */
  readonly usage: string
  readonly description: string
  readonly examples: readonly Example[]
  /** adds its own options */
  readonly declare?: (command: Command) => unknown
  /** false where it talks to no service */
  readonly service?: boolean
  /** false where it prints what another process prints */
  readonly output?: boolean
}

const examplesBy = new WeakMap<Command, readonly Example[]>()
const endedBy = new WeakMap<Command, ExitName>()

/** The examples of a command. */
export function examplesOf(command: Command): readonly Example[] {
  return examplesBy.get(command) ?? []
}

/** How the last run of a command tree ended. */
export function endOf(program: Command): ExitName {
  return endedBy.get(program) ?? 'done'
}

/** A command that does something. */
export function command(surroundings: Surroundings, words: CommandWords, act: Action): Command {
  const made = named(words)
  words.declare?.(made)
  if (words.service !== false) {
    made
      .option('--url <url>', "the service's address (default: DROVER_URL, or where you are signed in)")
      .option('--organization <name>', 'the organization, where a key sees several (default: DROVER_ORGANIZATION)')
  }
  if (words.output !== false) {
    made.option('--json', 'print JSON for programs').option('--utc', 'read and show times in UTC')
  }
  return made.action(async () => {
    const options = made.opts()
    const out = createOutput({ json: options.json === true, utc: options.utc === true }, surroundings)
    let session: Promise<Session> | undefined
    const run: Run = {
      surroundings,
      out,
      options,
      session() {
        session ??= openSession({ url: text(options.url), organization: text(options.organization) }, surroundings.env)
        return session
      },
    }
    const ended = await act(run, ...made.processedArgs.flat()).catch((error: unknown) => complain(error, run))
    endedBy.set(root(made), ended ?? 'done')
  })
}

/** A command that does the same with each of its arguments, one after the other, and says what became of it, a line each. */
export function commandForEach<Done>(
  surroundings: Surroundings,
  words: CommandWords,
  act: (client: Client, id: string) => Promise<Done>,
  told: (done: Done, out: Output) => string,
): Command {
  return command(surroundings, words, async (run, ...ids) => {
    const { client } = await run.session()
    for (const id of ids) {
      const done = await act(client, id)
      await run.out.line(done, () => told(done, run.out))
    }
    return undefined
  })
}

/** A command that only holds others. */
export function group(words: Omit<CommandWords, 'declare'>, commands: readonly Command[]): Command {
  const made = named(words)
  for (const each of commands) made.addCommand(each)
  return made
}

function named({ usage, description, examples }: CommandWords): Command {
  const [name = '', ...args] = usage.split(' ')
  const made = new Command(name).description(description)
  for (const argument of args) made.argument(argument)
  examplesBy.set(made, examples)
  const shown = examples.map(({ line, meaning }) => `  # ${meaning}\n  ${line}\n`).join('\n')
  return shown === '' ? made : made.addHelpText('after', `\nExamples:\n${shown}`)
}

function root(made: Command): Command {
  return made.parent ? root(made.parent) : made
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined)

function complain(error: unknown, { out, surroundings, options }: Run): ExitName {
  const exit = surroundings.interrupted.aborted ? 'interrupted' : exitOf(error)
  return tellFailure(error, exit, { json: out.json, stderr: surroundings.stderr, url: text(options.url) })
}
