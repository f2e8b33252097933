/**
 * How what an operator starts on a database fails: `drover serve`, `backup`, `restore` and `prune`. One place says which kind of failure it
 * is, so that the exit code is that of any other command.
 */
import { CommandFailed, type ExitName, exitOf } from './cli/frame/exit-codes.ts'
import { ConfigError } from './config/config.ts'
import { CannotListen } from './service/listening.ts'
import { BrokenBackup } from './store/backup-format.ts'
import { Unfit } from './store/unfit.ts'

const OBSTACLES = { file: 'usage', database: 'refused', noDatabase: 'notFound' } as const

/** Classes and codes of PostgreSQL and of the network that say: not now, not there, not you. */
const UNREACHABLE = /^(08\w{3}|57P0\d|53300|ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/
const NOT_PERMITTED = /^(28\w{3}|42501)$/
const NO_DATABASE = '3D000'

/** The kind of a failure, and what is told of it. */
export function operatorFailure(error: unknown): { readonly kind: ExitName; readonly told: unknown } {
  if (error instanceof ConfigError || error instanceof CannotListen) return { kind: 'usage', told: error }
  if (error instanceof BrokenBackup) return { kind: 'refused', told: error }
  if (error instanceof Unfit) return { kind: OBSTACLES[error.obstacle], told: error }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const words = error instanceof Error ? error.message || code : String(error)
  if (UNREACHABLE.test(code)) {
    return { kind: 'unreachable', told: new CommandFailed('unreachable', `The database cannot be reached: ${words}`) }
  }
  if (NOT_PERMITTED.test(code)) return { kind: 'notPermitted', told: error }
  if (code === NO_DATABASE) return { kind: 'notFound', told: error }
  return { kind: exitOf(error), told: error }
}
