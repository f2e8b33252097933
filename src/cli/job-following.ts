/** Follows a job until it has ended, and says how it stands: as a bar on a terminal, as lines for programs. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, JobSummaryView, JobView } from '../contract/client/client.ts'
import { CommandFailed, type ExitName } from './exit-codes.ts'
import { createJobProgress } from './job-progress.ts'
import type { Output } from './output.ts'
import type { Surroundings } from './surroundings.ts'

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

/** The first pause between two looks, and the longest. */
const LOOK_MS = 250
const LOOK_MAX_MS = 2_000

/** Waits until a job has ended. Fails with `late` where that takes too long, and as the service does. */
export async function followJob(
  jobId: string,
  { client, out, surroundings, withinMs, tell }: Following,
): Promise<JobView> {
  const { stderr, interrupted } = surroundings
  const progress = stderr.isTTY && !out.json ? createJobProgress(stderr as NodeJS.WriteStream) : undefined
  const until = withinMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + withinMs
  let told = ''
  let pause = LOOK_MS
  try {
    for (;;) {
      const job = await client.call('GET /operation/jobs/{jobId}', { path: { jobId }, signal: interrupted })
      const { summary } = job.report
      progress?.show(summary)
      const state = JSON.stringify(summary)
      pause = state === told ? Math.min(pause * 2, LOOK_MAX_MS) : LOOK_MS
      if (state !== told) await tell?.(job)
      told = state
      if (summary.status in OUTCOMES) return job
      if (Date.now() >= until) throw new CommandFailed('late', `Job ${jobId} is still ${summary.status}.`)
      await sleep(Math.min(pause, until - Date.now()), undefined, { signal: interrupted })
    }
  } finally {
    progress?.end()
  }
}
