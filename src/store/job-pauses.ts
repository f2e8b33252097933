/** Since when jobs are paused: told to whoever asks why they stand still, and asked by nobody who launches. Refuses to pause them. */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

const keep = statement<unknown, [bigint, Date | null]>(
  'job_pauses_keep',
  'update job set paused_at = $2 where job = $1',
)

/** Keeps when a job is paused, in the transaction that pauses it; null in the one that resumes it. */
export async function keepPausedAt(db: Queryable, job: bigint, at: Date | null): Promise<void> {
  await db.run(keep, [job, at])
}

const read = statement<{ pausedAt: Date | null }, [bigint]>(
  'job_pauses_read',
  `select paused_at as "pausedAt" from job where job = $1 and status = 'PAUSED'`,
)

/** Since when a job is paused; null where it is not, or was before that was kept. */
export async function readPausedAt(db: Queryable, job: bigint): Promise<Date | null> {
  return (await db.run(read, [job]))[0]?.pausedAt ?? null
}
