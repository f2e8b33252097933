/** `drover backup`: everything in one file. */
import type { Command } from 'commander'
import { command } from '../frame/command.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { WHERE, workOnDatabase } from '../processes/work-on-database.ts'

/** The command that takes a backup. */
export function backupCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'backup <file>',
      description: 'write everything into one file, in one snapshot, while the service goes on',
      examples: [{ meaning: 'everything, into a file that only you can read', line: 'drover backup drover.backup' }],
      service: false,
      declare: made => void made.addHelpText('after', WHERE),
    },
    async (run, file) => await workOnDatabase('backup', run, { file }),
  )
}
