/** The command line. It declares the commands and their options; each command's file does its work. */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { runDemo } from './demo.ts'
import { runVerify } from './verify.ts'

const wholeNumber = (text: string) => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.')
  return value
}
const share = (text: string) => {
  const value = Number(text)
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('It must lie between 0 and 1.')
  return value
}

/** Runs another entry of this package in its place, with the same arguments and streams. */
function become(script: string, args: readonly string[]): never {
  const { status, signal } = spawnSync(process.execPath, [path.join(import.meta.dirname, '..', script), ...args], {
    stdio: 'inherit',
  })
  process.exit(signal ? 130 : (status ?? 1))
}

const program = new Command('drover').description('Runs remote operations on fleets of devices.')

program
  .command('demo')
  .description('runs UPDATE on a pretend fleet, on a service of its own in a temporary folder')
  .option('--devices <n>', 'how many devices', wholeNumber, 1_000)
  .option('--fail <share>', 'share of the devices that report a failure', share, 0)
  .option('--seed <n>', 'decides all that looks like chance', wholeNumber, 1)
  .option('--keep', 'leave everything running until interrupted', false)
  .action(async options => {
    process.exitCode = await runDemo(options)
  })

program
  .command('verify')
  .description(
    'recounts all jobs of an organization from their rows: 0 when nothing differs, 1 when something does,\n' +
      '2 when the service refuses, 3 when it cannot be reached',
  )
  .option('--url <url>', "the service's address", 'http://127.0.0.1:8080')
  .requiredOption('--api-key <key>', 'a key of an administrator', process.env.DROVER_API_KEY)
  .option('--json', 'print one JSON document instead of a table', false)
  .action(async options => {
    process.exitCode = await runVerify(options)
  })

program
  .command('serve')
  .description('serves, configured by environment variables')
  .action(() => become('main.ts', []))

program
  .command('simulate')
  .description('plays a fleet of devices against a service')
  .helpOption(false)
  .allowUnknownOption()
  .allowExcessArguments()
  .action((_options, command: Command) => become('simulator/main.ts', command.args))

await program.parseAsync()
