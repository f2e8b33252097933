/** How a failure is told, whichever command it is of: a line for people, a line of JSON for programs, always on standard error. */
import { CommanderError } from 'commander'
import { CommandFailed, EXIT, type ExitName } from './exit-codes.ts'
import type { Surroundings } from './surroundings.ts'

export interface Hearer {
  readonly json: boolean
  readonly stderr: Surroundings['stderr']
  /** the service that was asked, where it was named */
  readonly url?: string | undefined
}

/** Says what went wrong, unless the user ended it; answers the kind again. */
export function tellFailure(error: unknown, kind: ExitName, { json, stderr, url }: Hearer): ExitName {
  if (kind === 'interrupted') return kind
  const message = messageOf(error, kind, url)
  const told = { error: { kind, exitCode: EXIT[kind], message, ...refusalIn(error) } }
  stderr.write(json ? `${JSON.stringify(told)}\n` : `drover: ${message}\n`)
  return kind
}

/** What the service said of its refusal, word for word. */
function refusalIn(error: unknown): object {
  if (!(error instanceof Error) || !('errors' in error) || !('status' in error)) return {}
  return { status: error.status, errors: error.errors }
}

function messageOf(error: unknown, kind: ExitName, url: string | undefined): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof CommanderError) return error.message.replace(/^error: /, '').replaceAll('\n', ' ')
  if (error instanceof CommandFailed || kind !== 'unreachable') return error.message
  const cause = error.cause instanceof Error ? error.cause.message || error.cause.name : error.message
  const place = url === undefined ? 'The service' : `The service at ${url}`
  return 'status' in error ? `${place} failed: ${error.message}` : `${place} cannot be reached: ${cause}`
}
