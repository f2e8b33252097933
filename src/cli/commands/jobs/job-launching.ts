/** How a job is launched and waited for, however it was asked for, and what is said of it. */
import type { Command } from 'commander'
import type { JobView } from '../../../contract/client/client.ts'
import type { Run } from '../../frame/command.ts'
import type { ExitName } from '../../frame/exit-codes.ts'
import { table } from '../../frame/output.ts'
import { spanOf } from '../../reading/times.ts'
import { followJob, OUTCOMES } from './job-following.ts'
import { makeJob } from './job-making.ts'
import type { AskedJob } from './job-options.ts'
import { concerns, JOB_TITLES, jobRow } from './job-words.ts'

/** Adds the options. */
export function declareLaunch(command: Command): void {
  command
    .option('--inactive', 'make the job without launching it')
    .option('--idempotency-key <key>', 'the same key within 24 hours gives the job that it made')
    .option('-w, --wait', 'wait for the end; the exit code says how it ended')
    .option('--within <time>', 'wait so long at most, such as 10m')
}

/** Makes the job, says so, and waits for its end where that is asked for. */
export async function launchJob(run: Run, asked: AskedJob): Promise<ExitName | undefined> {
  const { out, options } = run
  const { client } = await run.session()
  const idempotencyKey = typeof options.idempotencyKey === 'string' ? options.idempotencyKey : undefined
  const made = await makeJob(client, asked, { active: options.inactive !== true, idempotencyKey, out })
  if (options.wait !== true) {
    await out.answer(made, () => `${made.id}\n`)
    if (!out.json) out.remark(`${madeWords(made)}\n${concerns(made)}`)
    return undefined
  }
  if (!out.json) out.remark(`${madeWords(made)}\n${concerns(made)}`)
  return await waited(run, made.id)
}

function madeWords({ id, request, report: { summary } }: JobView): string {
  const covered = summary.total === 0 ? '' : ` on ${summary.total} ${summary.total === 1 ? 'entity' : 'entities'}`
  return `Job ${id}: ${String(request.name)}${covered}, ${summary.status}.`
}

/** Waits for the end of a job, and shows it. */
export async function waited(run: Run, jobId: string): Promise<ExitName | undefined> {
  const { out, options, surroundings } = run
  const withinMs = typeof options.within === 'string' ? spanOf('--within', options.within) : undefined
  const { client } = await run.session()
  const job = await followJob(jobId, { client, out, surroundings, withinMs })
  await out.answer(job, () => table(JOB_TITLES, [jobRow(job, out)]))
  return OUTCOMES[job.report.summary.status]
}
