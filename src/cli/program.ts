/** The tree of commands. What it says of itself is what help, completion and the reference show. */
import { Command, CommanderError } from 'commander'
import about from '../../package.json' with { type: 'json' }
import { auditCommand } from './commands/audit.ts'
import { backupCommand } from './commands/backup.ts'
import { completionCommand } from './commands/completion.ts'
import { deliveriesCommand } from './commands/deliveries.ts'
import { demoCommand } from './commands/demo/demo.ts'
import { devicesCommand } from './commands/devices/devices.ts'
import { jobsCommand } from './commands/jobs/jobs.ts'
import { loginCommand } from './commands/login.ts'
import { logoutCommand } from './commands/logout.ts'
import { operationsCommand } from './commands/operations/operations.ts'
import { pruneCommand } from './commands/prune.ts'
import { restoreCommand } from './commands/restore.ts'
import { searchCommand } from './commands/search.ts'
import { serveCommand } from './commands/serve.ts'
import { simulateCommand } from './commands/simulate.ts'
import { tasksCommand } from './commands/tasks/tasks.ts'
import { typesCommand } from './commands/types.ts'
import { usersCommand } from './commands/users.ts'
import { verifyCommand } from './commands/verify.ts'
import { endOf } from './frame/command.ts'
import { EXIT, EXIT_MEANINGS, type ExitName, exitOf } from './frame/exit-codes.ts'
import { tellFailure } from './frame/failures.ts'
import type { Surroundings } from './frame/surroundings.ts'

/** Every command, in the order of the help. A new one is a line here. */
const COMMANDS = [
  serveCommand,
  demoCommand,
  simulateCommand,
  loginCommand,
  logoutCommand,
  jobsCommand,
  operationsCommand,
  tasksCommand,
  typesCommand,
  devicesCommand,
  searchCommand,
  deliveriesCommand,
  usersCommand,
  auditCommand,
  verifyCommand,
  backupCommand,
  restoreCommand,
  pruneCommand,
  completionCommand,
]

/** Builds the tree; nothing runs yet. */
export function createProgram(surroundings: Surroundings): Command {
  const { stdout, stderr } = surroundings
  const program = new Command('drover')
    .description(about.description)
    .version(about.version, '-V, --version', 'print the version')
    .enablePositionalOptions()
    .addHelpText('after', exitCodesHelp())
  for (const each of COMMANDS) program.addCommand(each(surroundings))
  forAll(program, each =>
    each
      .exitOverride()
      .showSuggestionAfterError()
      .configureOutput({
        writeOut: text => void stdout.write(text),
        writeErr: text => void stderr.write(text),
        // Told where the line ends, in the form that was asked for.
        outputError: () => {},
        getOutHelpWidth: () => stdout.columns ?? 100,
        getErrHelpWidth: () => stderr.columns ?? 100,
      }),
  )
  return program
}

/** Does something to a command and all below it. */
export function forAll(command: Command, act: (command: Command) => void): void {
  act(command)
  for (const each of command.commands) forAll(each, act)
}

/** Runs a command line; answers its exit code, having said what there is to say. */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const program = createProgram(surroundings)
  try {
    await program.parseAsync(args, { from: 'user' })
    return EXIT[endOf(program)]
  } catch (error) {
    const kind = exitOf(error)
    if (kind === 'failed') throw error
    const isTold = kind === 'done' || (error instanceof CommanderError && error.code === 'commander.help')
    if (!isTold) tellFailure(error, kind, { json: isForPrograms(args), stderr: surroundings.stderr })
    return EXIT[kind]
  }
}

/** A line that cannot be read has no options yet: whether it asks for JSON is seen from its words. */
function isForPrograms(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end).includes('--json')
}

function exitCodesHelp(): string {
  const lines = Object.entries(EXIT_MEANINGS).map(
    ([name, meaning]) => `  ${String(EXIT[name as ExitName]).padStart(3)}  ${meaning}`,
  )
  return `\nExit codes:\n${lines.join('\n')}\n`
}
