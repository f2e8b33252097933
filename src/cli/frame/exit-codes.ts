/** What the exit codes of the command line mean, and which one a failure has. Programs build on them: a code is never given another meaning. */
import { CommanderError } from 'commander'
import { Refused } from '../../contract/client/client.ts'

/** The codes by their names. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  notPermitted: 5,
  notFound: 6,
  late: 7,
  finishedWithErrors: 10,
  cancelled: 11,
  timeoutCancelled: 12,
  interrupted: 130,
} as const
export type ExitName = keyof typeof EXIT

/** What each code says, for help and reference. */
export const EXIT_MEANINGS: Readonly<Record<ExitName, string>> = {
  done: 'Done. A job that was waited for ended as FINISHED.',
  failed: 'Not all of it worked: rows were refused, counters differ from rows, or something broke.',
  usage:
    'The command line is not right: an unknown option, a value that cannot be read, a file that is not there, or is there already, a port that is taken.',
  unreachable: 'The service or the database cannot be reached, is stopping, or failed itself.',
  refused:
    'What was asked was refused, by the service or for what was found: a data folder that another `drover serve` holds, a schema of a newer build, a database with rows in it, a damaged backup. It says which.',
  notPermitted: 'Not signed in, or the profile does not permit it.',
  notFound: 'There is no such job, task, operation, type, device, delivery or database.',
  late: 'What was waited for did not come in time.',
  finishedWithErrors: 'The job that was waited for ended as FINISHED_WITH_ERRORS.',
  cancelled: 'The job that was waited for was CANCELLED.',
  timeoutCancelled: 'The job that was waited for was TIMEOUT_CANCELLED: its stop came first.',
  interrupted: 'Interrupted (Ctrl-C).',
}

/** A failure of the command line's own, with its code and its words for people. */
export class CommandFailed extends Error {
  readonly exit: ExitName

  constructor(exit: ExitName, message: string) {
    super(message)
    this.name = 'CommandFailed'
    this.exit = exit
  }
}

/** Statuses that say nothing of the request: a gateway's or a service's own trouble. */
const AWAY = [500, 502, 503, 504]

/** The code of a failure, whatever it is. */
export function exitOf(error: unknown): ExitName {
  if (error instanceof CommandFailed) return error.exit
  if (error instanceof CommanderError) return error.exitCode === 0 ? 'done' : 'usage'
  if (error instanceof Refused) return exitOfStatus(error.status)
  if (error instanceof Error && error.name === 'TimeoutError') return 'unreachable'
  return isNetworkFailure(error) ? 'unreachable' : 'failed'
}

function exitOfStatus(status: number): ExitName {
  if (status === 401 || status === 403) return 'notPermitted'
  if (status === 404) return 'notFound'
  return AWAY.includes(status) ? 'unreachable' : 'refused'
}

/** `fetch` fails with a TypeError whose cause is the network's. */
function isNetworkFailure(error: unknown): boolean {
  return error instanceof TypeError && (error.cause !== undefined || error.message === 'terminated')
}
