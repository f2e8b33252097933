/** `drover demo`: what it takes and how it ends; the story it tells is beside it. */
import type { Command } from 'commander'
import { command } from '../../frame/command.ts'
import { CommandFailed, EXIT } from '../../frame/exit-codes.ts'
import type { Surroundings } from '../../frame/surroundings.ts'
import { count, share } from '../../reading/values.ts'
import { runDemo } from './demo-story.ts'

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
