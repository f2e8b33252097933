/** `drover serve`, `drover simulate`, `drover demo`: what runs on this machine, each a process of its own. */
import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import { declareFleet, readFleet } from '../simulator/command-line.ts'
import { command } from './command.ts'
import { runDemo } from './demo.ts'
import { entry, SIMULATOR_FLAGS, serviceNode } from './entries.ts'
import { CommandFailed, EXIT, type ExitName } from './exit-codes.ts'
import type { Surroundings } from './surroundings.ts'
import { count, share } from './values.ts'

/** Runs another entry with the same streams; signals reach it as they come. Answers how it ended. */
export async function become(
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): Promise<ExitName> {
  const child = spawn(serviceNode(), [...flags, entry(name), ...args], { stdio: 'inherit', env })
  // A terminal interrupts the whole group; what only reaches this process is passed on.
  const pass = (signal: NodeJS.Signals) => child.kill(signal)
  const stay = () => {}
  process.on('SIGTERM', pass).on('SIGINT', stay)
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (status, signal) => resolve(signal ? EXIT.interrupted : (status ?? EXIT.failed)))
    })
    return (Object.keys(EXIT) as ExitName[]).find(each => EXIT[each] === code) ?? 'failed'
  } finally {
    process.off('SIGTERM', pass).off('SIGINT', stay)
  }
}

/** The command that runs a service. */
export function serveCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'serve',
      description:
        'run a service on this machine, configured by environment variables (docs/reference/configuration.md)',
      examples: [{ meaning: 'on the embedded database, with its data in ./data', line: 'drover serve' }],
      service: false,
      output: false,
    },
    async () => {
      // What only clients read means nothing to a service, which would say so.
      const { DROVER_URL: _url, DROVER_API_KEY: _key, ...env } = process.env
      return await become('main', [], env)
    },
  )
}

/** The command that plays a fleet. Its options are the simulator's own, which reads them again as they were given. */
export function simulateCommand(surroundings: Surroundings): Command {
  const made: Command = command(
    surroundings,
    {
      usage: 'simulate',
      description:
        'play a fleet of devices against a service, with the key in DROVER_API_KEY; prints a line of JSON for what happens',
      examples: [
        {
          meaning: 'make a hundred devices known that connect over MQTT or ask for their work',
          line: 'drover simulate --list --devices 100 --flows mqtt,pull | drover devices import - --format json',
        },
        {
          meaning: 'play them until interrupted; one operation in ten fails',
          line: 'drover simulate --devices 100 --flows mqtt,pull --mqtt $MQTT --fail 0.1',
        },
        {
          meaning: 'what makes a hundred devices of all kinds known: those that are called are called at this port',
          line: 'drover simulate --list --devices 100 --listen-port 9000',
        },
      ],
      service: false,
      output: false,
      declare: declareFleet,
    },
    async ({ options, surroundings: { env } }) => {
      try {
        readFleet(options, env)
      } catch (error) {
        throw error instanceof RangeError ? new CommandFailed('usage', `${error.message}.`) : error
      }
      const asGiven = made.parent?.args.slice(1) ?? []
      return await become('simulator/main', asGiven, process.env, SIMULATOR_FLAGS)
    },
  )
  return made
}

/** The command that shows it all. */
export function demoCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'demo',
      description: 'run UPDATE on a pretend fleet, on a service of its own in a temporary folder',
      examples: [{ meaning: 'a small fleet, some of whose devices fail', line: 'drover demo --devices 20 --fail 0.1' }],
      service: false,
      output: false,
      declare: made => {
        made
          .option('--devices <n>', 'how many devices', count, 1_000)
          .option('--fail <share>', 'share of the operations that fail', share, 0)
          .option('--seed <n>', 'decides all that looks like chance', count, 1)
          .option('--keep', 'leave everything running until interrupted', false)
      },
    },
    async ({ options }) => {
      const { devices, fail, seed, keep } = options as { devices: number; fail: number; seed: number; keep: boolean }
      const code = await runDemo({ devices, fail, seed, keep })
      if (code === EXIT.interrupted) return 'interrupted'
      if (code !== 0) throw new CommandFailed('failed', 'The demo found something that is not as it must be.')
      return undefined
    },
  )
}
