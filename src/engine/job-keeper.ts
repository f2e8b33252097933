/**
 * Starts, stops and opens jobs when their time has come; what takes long, because there is much to place or to wake, is kept apart from
 * the rest, which does not wait for it. Refuses to launch operations and to cancel them: it opens and closes jobs, and others do the rest.
 */
import type { Database, Transaction } from '../store/database.ts'
import { lockFreeJobs, readCounters, readStoredJob, type StoredJob, updateJob } from '../store/jobs.ts'
import { dueJobs, nextJobDueAt, spreadingJobs } from '../store/jobs-due.ts'
import { LARGE_FROM, lockRanked, type Ranked, rankAhead } from './job-ranking.ts'
import type { JobNotices, JobSettling } from './job-settling.ts'
import { beginCancel, spreadOverdue, start } from './job-transitions.ts'
import { wakeJob } from './job-waking.ts'
import { oneByOne } from './one-by-one.ts'

const JOBS_PER_TURN = 100
/** One statement gives all operations of a job their places, however many they are; a stop cancels it. */
const START_MS = 600_000

export interface JobKeeperParts {
  readonly database: Database
  readonly notices: JobNotices
  readonly settling: JobSettling
  readonly onCommit: () => void
  /** the gates of jobs that are under way may be open again */
  readonly onOpened: () => void
  /** something is there for `keepLarge` */
  readonly onLarge: () => void
  /** whether the occurrence of a task's waiting job was missed for too long: then it is not started but moved on */
  readonly isMissed: (tx: Transaction, job: StoredJob, now: Date) => Promise<boolean>
}

/** Two loops: each answers when it is due next. */
export interface JobKeeping {
  /** One turn: every job whose start, stop or next opening has come, each in a transaction of its own; large ones are left to the other. */
  readonly keep: (now: Date, signal: AbortSignal) => Promise<Date | null>
  /** One turn: the large job that was left longest ago. */
  readonly keepLarge: (now: Date, signal: AbortSignal) => Promise<Date | null>
}

/** What was done about a job: whether there is something new for others, or left to do. */
type Done = 'stayed' | 'moved' | 'opened'

export function createJobKeeping(parts: JobKeeperParts): JobKeeping {
  const { database, notices, settling, onCommit, onOpened, onLarge, isMissed } = parts
  /** Left by `keep`, in order. Nothing is lost with them: they are due, and found again. */
  const large = new Set<bigint>()

  const isLeft = async (tx: Transaction, job: StoredJob, now: Date) =>
    !job.startAt ||
    job.startAt > now ||
    job.unresolved.length > 0 ||
    (job.task !== null && (await isMissed(tx, job, now)))

  /** Whether there is much to place at the start of a job, or to wake at its opening. A stop is quick, and goes first. */
  async function takesLong(tx: Transaction, job: StoredJob, now: Date): Promise<boolean> {
    const starts = job.status === 'SCHEDULED' && !(await isLeft(tx, job, now))
    const stops = job.stopAt !== null && job.stopAt <= now
    const opens = job.status === 'IN_PROGRESS' && !stops && job.wakeAt !== null && job.wakeAt <= now
    if (!starts && !opens) return false
    const { scheduled, waiting_for_connection } = (await readCounters(tx, [job.job])).get(job.job)!
    return (starts ? scheduled : waiting_for_connection) > LARGE_FROM
  }

  async function move(tx: Transaction, number: bigint, ranked: Ranked | undefined, now: Date): Promise<Done> {
    const job = ranked ? await lockRanked(tx, number, ranked) : (await lockFreeJobs(tx, [number]))[0]
    if (!job) return ranked === undefined ? 'stayed' : 'moved'
    let done: Done = 'stayed'
    if (job.status === 'SCHEDULED' && !(await isLeft(tx, job, now))) {
      await start(tx, job, notices, now, ranked?.places)
      done = 'moved'
    }
    // A stop that passed in an outage closes what has only just started.
    if ((job.status === 'IN_PROGRESS' || job.status === 'PAUSED') && job.stopAt && job.stopAt <= now) {
      await beginCancel(tx, job, 'stopReached')
      done = 'moved'
    }
    if (job.status === 'IN_PROGRESS' && job.wakeAt && job.wakeAt <= now) {
      await wakeJob(tx, job, now)
      await updateJob(tx, job)
      done = 'opened'
    }
    await settling.settle(tx, [number], now)
    return done
  }

  /** Moves a job unless that takes long; answers what it did. */
  async function moveUnlessLarge(tx: Transaction, number: bigint, now: Date): Promise<Done | 'large'> {
    const standing = await readStoredJob(tx, number)
    if (standing && (await takesLong(tx, standing, now))) return 'large'
    return await move(tx, number, undefined, now)
  }

  function tell(done: Done): void {
    if (done === 'opened') onOpened()
    if (done !== 'stayed') onCommit()
  }

  return {
    async keep(now, signal) {
      const due = await dueJobs(database, now, { limit: JOBS_PER_TURN, except: [...large] })
      await oneByOne(due, signal, async job => {
        const did = await database.transaction(tx => moveUnlessLarge(tx, job, now), {
          statementTimeoutMs: START_MS,
          signal,
        })
        if (did !== 'large') return tell(did)
        large.add(job)
        onLarge()
      })
      // What was due and is in other hands is looked at again once they have moved it.
      return due.length >= JOBS_PER_TURN ? now : await nextJobDueAt(database, now)
    },
    async keepLarge(now, signal) {
      const [job] = large
      if (job === undefined) return null
      const options = { statementTimeoutMs: START_MS, signal }
      try {
        const ranked = await rankAhead(database, job, (tx, stored) => isLeft(tx, stored, now), options)
        // Another node is at it.
        if (ranked === null) return now
        tell(await database.transaction(tx => move(tx, job, ranked, now), options))
      } finally {
        large.delete(job)
      }
      return now
    },
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
