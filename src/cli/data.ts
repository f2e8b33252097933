/**
 * `drover backup`, `restore` and `prune`: for whoever holds the database, not for a client of the interface. They are words here; a process
 * of its own does the work.
 */

import { type Command, InvalidArgumentError } from 'commander'
import { command, type Run } from './command.ts'
import { become } from './processes.ts'
import type { Surroundings } from './surroundings.ts'
import { count } from './values.ts'

const WHERE = '\nThe database is that of DATABASE_URL, or else the embedded one in DROVER_DATA_DIR.\n'
/** Has a process do the work: with the streams, the environment and the signals of this one. */
const work = (word: string, { out }: Run, asked: object) =>
  become('data', [word, JSON.stringify({ ...asked, json: out.json })], process.env)

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
    async (run, file) => await work('backup', run, { file }),
  )
}

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
    async (run, file) => await work('restore', run, { file }),
  )
}

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
      return await work('prune', run, { months, dryRun })
    },
  )
}

const MONTHS_MAX = 1_200

function monthCount(text: string): number {
  const months = count(text)
  if (months > MONTHS_MAX) throw new InvalidArgumentError(`It must be at most ${MONTHS_MAX}.`)
  return months
}
