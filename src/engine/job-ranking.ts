/**
 * Gives the operations of a large job their places ahead of its start, without holding the job: whoever wants to cancel it meanwhile
 * does not wait for a million rows. Refuses to start it.
 */

import { clearReady } from '../store/claims.ts'
import type { Database, Transaction, TransactionOptions } from '../store/database.ts'
import { lockFreeJobs, readCounters, readStoredJob, type StoredJob } from '../store/jobs.ts'
import { rankClearedOperations, tryRanking } from '../store/targets.ts'
import { factorOf } from './job-transitions.ts'

/** Operations from which on a job is large: it is ranked ahead, and moved where no other waits for it. */
export const LARGE_FROM = 10_000

/** What was ranked: the activation that it holds for, and how many places there are. */
export interface Ranked {
  readonly activatedAt: Date
  readonly places: number
}

/** Ranks a job ahead where it is large and about to start; undefined where it is not, and null where it must not start now. */
export async function rankAhead(
  database: Database,
  number: bigint,
  isLeft: (tx: Transaction, job: StoredJob) => Promise<boolean>,
  options: Pick<TransactionOptions, 'statementTimeoutMs' | 'signal'>,
): Promise<Ranked | null | undefined> {
  return await database.transaction(async tx => {
    const job = await readStoredJob(tx, number)
    if (job?.status !== 'SCHEDULED' || job.activatedAt === null) return undefined
    const count = (await readCounters(tx, [number])).get(number)!.scheduled
    if (count <= LARGE_FROM || (await isLeft(tx, job))) return undefined
    if (!(await tryRanking(tx, number))) return null
    // Whoever was at it before may have started it.
    const ranked = await readStoredJob(tx, number)
    if (ranked?.status !== 'SCHEDULED' || ranked.activatedAt === null) return null
    // Left from an activation that was taken back.
    await clearReady(tx, number)
    const places = await rankClearedOperations(tx, number, factorOf(ranked))
    return { activatedAt: ranked.activatedAt, places }
  }, options)
}

/**
 * Locks a job for a start by what was ranked, unless somebody else has it or ranks it again; takes the places back where they do not
 * hold any more. Others rank and start nothing of it until the transaction ends.
 */
export async function lockRanked(
  tx: Transaction,
  number: bigint,
  { activatedAt }: Ranked,
): Promise<StoredJob | undefined> {
  if (!(await tryRanking(tx, number))) return undefined
  const [job] = await lockFreeJobs(tx, [number])
  if (job?.status === 'SCHEDULED' && job.activatedAt?.getTime() === activatedAt.getTime()) return job
  const standing = job ?? (await readStoredJob(tx, number))
  // Somebody has it in hand: either it starts, or it is looked at again.
  if (standing !== undefined && (!job || job.launchAt !== null)) return undefined
  await clearReady(tx, number)
  return undefined
}
