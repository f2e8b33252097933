/**
 * `drover verify`: has a service recount its jobs from their rows, part by part, and shows what is not as it must be. It mends
 * nothing. Serves: Job as read (`report.summary`).
 */
import type { Command } from 'commander'
import type { VerifyView } from '../../contract/client/client.ts'
import { command, type Run } from '../frame/command.ts'
import { table } from '../frame/output.ts'
import type { Surroundings } from '../frame/surroundings.ts'

type Difference = VerifyView['differences'][number]

interface Verified {
  readonly jobs: number
  readonly differences: readonly Difference[]
  /** false where so much was wrong that the rest was not looked at */
  readonly complete: boolean
}

/** Jobs asked for at a time; the service answers sooner where that takes it too long. */
const SIZE = 1_000
/** With more differences than this, more say no more. */
const DIFFERENCES_MAX = 10_000

/** The command. */
export function verifyCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'verify',
      description: 'recount all jobs of the organization from their rows; ends with 1 where something differs',
      examples: [
        { meaning: 'does everything add up', line: 'drover verify' },
        { meaning: 'for a monitor', line: 'drover verify --json' },
      ],
    },
    async run => {
      const verified = await verify(run)
      await run.out.answer(verified, () => inWords(verified))
      return verified.differences.length === 0 ? undefined : 'failed'
    },
  )
}

async function verify(run: Run): Promise<Verified> {
  const { client } = await run.session()
  const progress = run.out.progress('Verifying')
  const total = await jobsInAll(run)
  const differences: Difference[] = []
  let jobs = 0
  try {
    for (let after: string | undefined; ; ) {
      const query = { size: SIZE, after }
      const part = await client.call('GET /operation/verify', { query, signal: run.surroundings.interrupted })
      jobs += part.jobs
      differences.push(...part.differences)
      progress.show(total === 0 ? 1 : jobs / total, `${jobs} of ${total} jobs`)
      if (part.next === undefined) return { jobs, differences, complete: true }
      if (differences.length >= DIFFERENCES_MAX) return { jobs, differences, complete: false }
      after = part.next
    }
  } finally {
    progress.end()
  }
}

/** What the bar measures by; where there is none, nobody asks. */
async function jobsInAll({ session, surroundings }: Run): Promise<number> {
  if (!surroundings.stderr.isTTY) return 0
  const { client } = await session()
  return (await client.call('POST /search/jobs/summary', { body: {} })).summary.count
}

function inWords({ jobs, differences, complete }: Verified): string {
  const verified = `${jobs} ${jobs === 1 ? 'job' : 'jobs'} verified`
  if (differences.length === 0) return `${verified}: the counters agree with the rows.\n`
  const rows = differences.map(({ kind, jobId, counter, counted, rows, operations, operationId }) => [
    jobId,
    counter ?? kind,
    counted,
    rows ?? `${operations ?? 0} operations`,
    operationId,
  ])
  const rest = complete ? '' : ' The jobs after these were not looked at.'
  const shown = table(['job', 'what', 'the counter says', 'the rows say', 'for example'], rows)
  return `${shown}\n${verified}, ${differences.length} ${differences.length === 1 ? 'difference' : 'differences'}.${rest}\n`
}
