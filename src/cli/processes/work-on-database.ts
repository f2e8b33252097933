/**
 * What `drover backup`, `restore` and `prune` have in common: they are for whoever holds the database, not for a client of the interface. The
 * commands are words; a process of its own does the work.
 */
import type { Run } from '../frame/command.ts'
import type { ExitName } from '../frame/exit-codes.ts'
import { become } from './become.ts'

/** What their help says of where the database is. */
export const WHERE = '\nThe database is that of DATABASE_URL, or else the embedded one in DROVER_DATA_DIR.\n'

/** Has the process do the work: with the streams, the environment and the signals of this one. Answers how it ended. */
export async function workOnDatabase(word: string, { out }: Run, asked: object): Promise<ExitName> {
  return await become('data', [word, JSON.stringify({ ...asked, json: out.json })], process.env)
}
