/** `drover serve`: a service on this machine, as a process of its own. */
import type { Command } from 'commander'
import { command } from '../frame/command.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { become } from '../processes/become.ts'

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
    async () => await become('main', [], process.env),
  )
}
