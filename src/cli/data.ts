/**
 * `drover backup`, `restore` and `prune`: for whoever holds the database, not for a client of the interface. They are words here; a process
 * of its own does the work.
 */
import type { Command } from 'commander'
import { command } from './command.ts'
import { become } from './processes.ts'
import type { Surroundings } from './surroundings.ts'
import { count } from './values.ts'

const WHERE = '\nThe database is that of DATABASE_URL, or else the embedded one in DROVER_DATA_DIR.\n'
const asJson = (options: Readonly<Record<string, unknown>>) => (options.json === true ? ['--json'] : [])

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
    async ({ options }, file = '') => await become('data', ['backup', file, ...asJson(options)], process.env),
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
    async ({ options }, file = '') => await become('data', ['restore', file, ...asJson(options)], process.env),
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
            count,
          )
          .option('--dry-run', 'only tell what would go', false)
          .addHelpText('after', WHERE),
    },
    async ({ options }) => {
      const months = options.months === undefined ? [] : ['--months', String(options.months)]
      const dryRun = options.dryRun === true ? ['--dry-run'] : []
      return await become('data', ['prune', ...months, ...dryRun, ...asJson(options)], process.env)
    },
  )
}
