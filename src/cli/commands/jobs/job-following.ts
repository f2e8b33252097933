/** Follows a job until it has ended, and says how it stands: as a bar on a terminal, as lines for programs. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, JobSummaryView, JobView } from '../../../contract/client/client.ts'
import { CommandFailed, type ExitName } from '../../frame/exit-codes.ts'
import type { Output } from '../../frame/output.ts'
import type { Surroundings } from '../../frame/surroundings.ts'
import { watchJobNews } from './job-news.ts'
import { createJobProgress } from './job-progress.ts'

type JobStatus = JobSummaryView['status']

/** How a run that waited for a job ends, by how the job ended. */
export const OUTCOMES: Readonly<Partial<Record<JobStatus, ExitName>>> = {
  FINISHED: 'done',
  FINISHED_WITH_ERRORS: 'finishedWithErrors',
  CANCELLED: 'cancelled',
  TIMEOUT_CANCELLED: 'timeoutCancelled',
}

export interface Following {
  readonly client: Client
  readonly out: Output
  readonly surroundings: Surroundings
  /** how long to wait at most, in milliseconds */
  readonly withinMs?: number | undefined
  /** told every state of the job that differs from the one before */
  readonly tell?: (job: JobView) => Promise<void>
}

/** Between two looks at a job, however fast it changes. */
const LOOK_MS = 250

/** Waits until a job has ended. Fails with `late` where that takes too long, and as the service does. */
export async function followJob(jobId: string, following: Following): Promise<JobView> {
  const { client, out, surroundings, withinMs, tell } = following
  const { stderr, interrupted } = surroundings
  const late = withinMs === undefined ? undefined : AbortSignal.timeout(withinMs)
  const signal = late ? AbortSignal.any([interrupted, late]) : interrupted
  const progress = stderr.isTTY && !out.json ? createJobProgress(stderr as NodeJS.WriteStream) : undefined
  const news = watchJobNews(client, jobId)
  signal.addEventListener('abort', news.close)
  let told = ''
  let status = ''
  try {
    for (;;) {
      const job = await client.call('GET /operation/jobs/{jobId}', { path: { jobId }, signal })
      const { summary } = job.report
      status = summary.status
      progress?.show(summary)
      const state = JSON.stringify(summary)
      if (state !== told) await tell?.(job)
      told = state
      if (summary.status in OUTCOMES) return job
      await sleep(LOOK_MS, undefined, { signal })
      await news.next()
      signal.throwIfAborted()
    }
  } catch (error) {
    if (late?.aborted) throw new CommandFailed('late', `Job ${jobId} is still ${status || 'not read'}.`)
    throw error
  } finally {
    signal.removeEventListener('abort', news.close)
    news.close()
    progress?.end()
  }
}
