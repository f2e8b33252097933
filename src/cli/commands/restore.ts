/** `drover restore`: a backup into an empty database. */
import type { Command } from 'commander'
import { command } from '../frame/command.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { WHERE, workOnDatabase } from '../processes/work-on-database.ts'

/** The command that restores one. */
export function restoreCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'restore <file>',
      description: 'restore a backup into an empty database, and bring it up to this build',
      examples: [{ meaning: 'with nothing else running on the database', line: 'drover restore drover.backup' }],
      service: false,
      declare: made => void made.addHelpText('after', WHERE),
    },
    async (run, file) => await workOnDatabase('restore', run, { file }),
  )
}
