/** `drover prune`: old months let go by hand. */
import { type Command, InvalidArgumentError } from 'commander'
import { command } from '../frame/command.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { WHERE, workOnDatabase } from '../processes/work-on-database.ts'
import { count } from '../reading/values.ts'

/** The command that lets old months go. */
export function pruneCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'prune',
      description: 'let old ended operations go, a month at a time, with their jobs',
      examples: [{ meaning: 'what would go if a year were kept', line: 'drover prune --months 12 --dry-run' }],
      service: false,
      declare: made =>
        void made
          .option(
            '--months <n>',
            'keep so many months beside the present one (default: DROVER_RETENTION_MONTHS)',
            monthCount,
          )
          .option('--dry-run', 'only tell what would go', false)
          .addHelpText('after', WHERE),
    },
    async run => {
      const { months, dryRun } = run.options
      return await workOnDatabase('prune', run, { months, dryRun })
    },
  )
}

const MONTHS_MAX = 1_200

function monthCount(text: string): number {
  const months = count(text)
  if (months > MONTHS_MAX) throw new InvalidArgumentError(`It must be at most ${MONTHS_MAX}.`)
  return months
}
