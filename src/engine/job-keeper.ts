/**
 * Starts, stops and opens jobs when their time has come. Refuses to launch operations and to cancel them: it opens and closes jobs, and
 * others do the rest.
 */
import type { Database, Transaction } from '../store/database.ts'
import { lockFreeJobs, type StoredJob, updateJob } from '../store/jobs.ts'
import { dueJobs, nextJobDueAt, spreadingJobs } from '../store/jobs-due.ts'
import { lockRanked, type Ranked, rankAhead } from './job-ranking.ts'
import type { JobNotices, JobSettling } from './job-settling.ts'
import { beginCancel, spreadOverdue, start } from './job-transitions.ts'
import { wakeJob } from './job-waking.ts'
import { oneByOne } from './one-by-one.ts'

const JOBS_PER_TURN = 100
/** One statement gives all operations of a job their places, however many they are. */
const START_MS = 600_000

export interface JobKeeperParts {
  readonly database: Database
  readonly notices: JobNotices
  readonly settling: JobSettling
  readonly onCommit: () => void
  /** whether the occurrence of a task's waiting job was missed for too long: then it is not started but moved on */
  readonly isMissed: (tx: Transaction, job: StoredJob, now: Date) => Promise<boolean>
}

/** One turn: every job whose start, stop or next opening has come, each in a transaction of its own; answers when the next is due. */
export function createJobKeeping(parts: JobKeeperParts): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  const { database, notices, settling, onCommit, isMissed } = parts

  const isLeft = async (tx: Transaction, job: StoredJob, now: Date) =>
    !job.startAt ||
    job.startAt > now ||
    job.unresolved.length > 0 ||
    (job.task !== null && (await isMissed(tx, job, now)))

  /** Moves a job; answers whether there is something new for others, or left to do. */
  async function move(tx: Transaction, number: bigint, ranked: Ranked | undefined, now: Date): Promise<boolean> {
    const job = ranked ? await lockRanked(tx, number, ranked) : (await lockFreeJobs(tx, [number]))[0]
    if (!job) return ranked !== undefined
    let moved = false
    if (job.status === 'SCHEDULED' && !(await isLeft(tx, job, now))) {
      await start(tx, job, notices, now, ranked?.places)
      moved = true
    }
    // A stop that passed in an outage closes what has only just started.
    if ((job.status === 'IN_PROGRESS' || job.status === 'PAUSED') && job.stopAt && job.stopAt <= now) {
      await beginCancel(tx, job, 'stopReached')
      moved = true
    }
    if (job.status === 'IN_PROGRESS' && job.wakeAt && job.wakeAt <= now) {
      await wakeJob(tx, job, now)
      await updateJob(tx, job)
      moved = true
    }
    await settling.settle(tx, [number], now)
    return moved
  }

  return async (now, signal) => {
    const due = await dueJobs(database, now, JOBS_PER_TURN)
    await oneByOne(due, signal, async job => {
      const ranked = await rankAhead(database, job, (tx, stored) => isLeft(tx, stored, now), START_MS)
      // Another node is at it.
      if (ranked === null) return
      const moved = await database.transaction(tx => move(tx, job, ranked, now), { statementTimeoutMs: START_MS })
      if (moved) onCommit()
    })
    // What was due and is in other hands is looked at again once they have moved it.
    return due.length >= JOBS_PER_TURN ? now : await nextJobDueAt(database, now)
  }
}

/** After an outage: spreads anew what became overdue in it, of every job that spreads its operations. */
export function createOverdueSpreading(database: Database): (now: Date) => Promise<void> {
  return async now => {
    for (let after = 0n; ; ) {
      const jobs = await spreadingJobs(database, after, JOBS_PER_TURN)
      for (const number of jobs) {
        await database.transaction(async tx => {
          const [job] = await lockFreeJobs(tx, [number])
          if (job?.status !== 'IN_PROGRESS') return
          await spreadOverdue(tx, job, now)
          await updateJob(tx, job)
        })
      }
      if (jobs.length < JOBS_PER_TURN) return
      after = jobs.at(-1)!
    }
  }
}
