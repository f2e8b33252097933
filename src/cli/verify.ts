/**
 * `drover verify`: has a service recount its jobs from their rows, part by part, and shows what is not as it must be. It mends
 * nothing. Serves: Job as read (`report.summary`).
 */
import Table from 'cli-table3'
import type { VerifyView } from '../contract/verify.ts'
import { createClient, RequestFailed } from './client.ts'

export interface VerifyOptions {
  readonly url: string
  readonly apiKey: string
  /** one JSON document instead of a table */
  readonly json: boolean
}

type Difference = VerifyView['differences'][number]

interface Verified {
  readonly jobs: number
  readonly differences: readonly Difference[]
  /** false where so much was wrong that the rest was not looked at */
  readonly complete: boolean
}

/** What the exit code says of a verification. */
export const VERIFY_EXIT = { agrees: 0, differs: 1, refused: 2, unreachable: 3 } as const

/** Jobs asked for at a time; the service answers sooner where that takes it too long. */
const SIZE = 1_000
/** With more differences than this, more say no more. */
const DIFFERENCES_MAX = 10_000
/** The gateways' words for a service that is away. */
const AWAY = [502, 503, 504]

/** Verifies the organization of the key's user and answers the exit code, having said why. */
export async function runVerify(options: VerifyOptions): Promise<number> {
  try {
    const verified = await verify(options)
    process.stdout.write(options.json ? `${JSON.stringify(verified)}\n` : inWords(verified))
    return verified.differences.length === 0 ? VERIFY_EXIT.agrees : VERIFY_EXIT.differs
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const answered = error instanceof RequestFailed && !AWAY.includes(error.status)
    const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
    process.stderr.write(
      answered ? `${error.message}\n` : `The service at ${options.url} cannot be reached: ${error.message}${cause}\n`,
    )
    return answered ? VERIFY_EXIT.refused : VERIFY_EXIT.unreachable
  }
}

async function verify({ url, apiKey }: VerifyOptions): Promise<Verified> {
  const client = createClient(url.replace(/\/+$/, ''), apiKey)
  const differences: Difference[] = []
  let jobs = 0
  for (let after: string | undefined; ; ) {
    const query = new URLSearchParams({ size: String(SIZE), ...(after !== undefined && { after }) })
    const path = `/north/v80/operation/verify?${query}`
    const part = (await client.request<VerifyView>('GET', path))!
    jobs += part.jobs
    differences.push(...part.differences)
    if (part.next === undefined) return { jobs, differences, complete: true }
    if (differences.length >= DIFFERENCES_MAX) return { jobs, differences, complete: false }
    after = part.next
  }
}

function inWords({ jobs, differences, complete }: Verified): string {
  const verified = `${jobs} ${jobs === 1 ? 'job' : 'jobs'} verified`
  if (differences.length === 0) return `${verified}: the counters agree with the rows.\n`
  const table = new Table({
    head: ['job', 'what', 'the counter says', 'the rows say', 'for example'],
    style: { head: [], border: [] },
  })
  for (const { kind, jobId, counter, counted, rows, operations, operationId } of differences) {
    table.push([jobId, counter ?? kind, counted ?? '', rows ?? `${operations ?? 0} operations`, operationId ?? ''])
  }
  const rest = complete ? '' : ' The jobs after these were not looked at.'
  return `${table.toString()}\n${verified}, ${differences.length} ${differences.length === 1 ? 'difference' : 'differences'}.${rest}\n`
}
