/**
 * Starts and stops jobs when their time has come. Refuses to launch operations and to cancel them: it opens and closes jobs, and
 * others do the rest.
 */
import type { Database, Transaction } from '../store/database.ts'
import { dueJobs, lockFreeJobs, nextJobDueAt, type StoredJob, spreadingJobs, updateJob } from '../store/jobs.ts'
import type { JobNotices, JobSettling } from './job-settling.ts'
import { beginCancel, spreadOverdue, start } from './job-transitions.ts'
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

/** One turn: every job whose start or stop has come, each in a transaction of its own; answers when the next is due. */
export function createJobKeeping(parts: JobKeeperParts): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  const { database, notices, settling, onCommit, isMissed } = parts

  async function move(tx: Transaction, number: bigint, now: Date): Promise<void> {
    const [job] = await lockFreeJobs(tx, [number])
    if (!job) return
    if (job.status === 'SCHEDULED' && job.unresolved.length === 0 && job.startAt && job.startAt <= now) {
      if (job.task !== null && (await isMissed(tx, job, now))) return
      await start(tx, job, notices, now)
    }
    // A stop that passed in an outage closes what has only just started.
    if ((job.status === 'IN_PROGRESS' || job.status === 'PAUSED') && job.stopAt && job.stopAt <= now) {
      await beginCancel(tx, job, 'stopReached')
    }
    await settling.settle(tx, [number], now)
  }

  return async (now, signal) => {
    const due = await dueJobs(database, now, JOBS_PER_TURN)
    await oneByOne(due, signal, async job => {
      await database.transaction(tx => move(tx, job, now), { statementTimeoutMs: START_MS })
      onCommit()
    })
    return due.length === JOBS_PER_TURN ? now : await nextJobDueAt(database)
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
