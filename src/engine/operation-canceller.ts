/**
 * Ends open operations by the thousand: of jobs being cancelled, and of entities and types that go. The decision is the
 * lifecycle's, made once per status. Refuses to decide when a job is cancelled.
 */
import { openCounter } from '../domain/counters.ts'
import { PARTITIONS } from '../domain/identity.ts'
import type { JobStatus } from '../domain/job.ts'
import { decide, OPEN_STATUSES, type OperationEvent, phaseOf } from '../domain/operation.ts'
import { clearReadyChunk } from '../store/claims.ts'
import { CounterDeltas, writeDeltas } from '../store/counters.ts'
import type { Database, Transaction } from '../store/database.ts'
import { cancellingJobs } from '../store/jobs-due.ts'
import {
  endOperationsOfEntities,
  endOperationsOfJob,
  hasOpenOperations,
  type MassAnswer,
  type MassMove,
} from '../store/operation-cancels.ts'
import type { JobSettling } from './job-settling.ts'
import { oneByOne } from './one-by-one.ts'

const CHUNK = 5_000
const JOBS_PER_TURN = 100

type MassEvent = Extract<OperationEvent, 'userCancel' | 'stopReached' | 'deleted'>

/** The lifecycle's answers for every open status. */
export function massAnswers(event: MassEvent): MassAnswer[] {
  return OPEN_STATUSES.flatMap(status =>
    [false, true].map(everLaunched => {
      const decision = decide(phaseOf(status, everLaunched), event)
      return { status, everLaunched, next: decision.status, result: decision.result!, counter: decision.counter! }
    }),
  )
}

async function count(tx: Transaction, moves: readonly MassMove[]): Promise<void> {
  const deltas = new CounterDeltas()
  for (const move of moves) deltas.move(move.job, openCounter(move.status), move.counter, move.count)
  await writeDeltas(tx, deltas)
}

/** A part of a job: partitions, the last one included, and how many operations of them at most. */
export interface Chunk {
  readonly from?: number
  readonly to?: number
  readonly limit?: number
}

/** Ends operations of a chunk in the caller's transaction; answers how many, and the partition to go on from. */
export async function cancelChunk(
  tx: Transaction,
  job: bigint,
  event: MassEvent,
  now: Date,
  { from = 0, to = PARTITIONS - 1, limit = CHUNK }: Chunk = {},
): Promise<{ ended: number; next: number }> {
  const moves = await endOperationsOfJob(tx, massAnswers(event), now, { job, from, to, limit })
  await count(tx, moves)
  return {
    ended: moves.reduce((sum, move) => sum + move.count, 0),
    next: Math.max(from, ...moves.map(move => move.lastPartition)),
  }
}

/** Ends every open operation of entities as deleted; answers their jobs. */
export async function closeOperationsOfEntities(
  tx: Transaction,
  entities: readonly { readonly partition: number; readonly entity: bigint }[],
  now: Date,
): Promise<bigint[]> {
  const moves = await endOperationsOfEntities(tx, massAnswers('deleted'), now, entities, 'The entity was deleted.')
  await count(tx, moves)
  return [...new Set(moves.map(move => move.job))]
}

/** The event by which the operations of a job in a status end, where they are being cancelled. */
function massEventOf(status: JobStatus): MassEvent {
  return status === 'CANCELLING_BY_ENGINE' ? 'stopReached' : 'userCancel'
}

/** What is still to be gone through of a job, on one of the connections that do it side by side. */
interface Stretch {
  readonly job: bigint
  readonly status: JobStatus
  readonly lane: number
  readonly from: number
  readonly to: number
}

/** Halves of a job are cancelled side by side: that is as fast as two cores are. */
const LANES = [0, 1]
const LANE_PARTITIONS = PARTITIONS / LANES.length

function stretchesOf({ job, status }: Pick<Stretch, 'job' | 'status'>): Stretch[] {
  return LANES.map(lane => {
    const from = lane * LANE_PARTITIONS
    return { job, status, lane, from, to: from + LANE_PARTITIONS - 1 }
  })
}

/** One turn: a chunk of each half of every job being cancelled, round after round until nothing is open or the signal aborts. */
export function createOperationCancelling(
  database: Database,
  settling: JobSettling,
  onCommit: () => void,
): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  async function settle({ job, status }: Stretch, now: Date): Promise<Stretch[]> {
    if (await hasOpenOperations(database, job)) return stretchesOf({ job, status })
    await database.transaction(tx => settling.settle(tx, [job], now))
    onCommit()
    return []
  }

  return async (now, signal) => {
    const jobs = await cancellingJobs(database, JOBS_PER_TURN)
    let round = jobs.flatMap(stretchesOf)
    while (round.length > 0 && !signal.aborted) {
      const further: Stretch[] = []
      const over = new Map<bigint, Stretch>()
      const end = async (stretch: Stretch) => {
        const { job, status, from, to } = stretch
        const chunk = await database.transaction(tx => cancelChunk(tx, job, massEventOf(status), now, { from, to }), {
          byKey: true,
        })
        // Whatever ends the job would otherwise do all of it at once. Its gate is closed: nothing claims these any more.
        await clearReadyChunk(database, job, CHUNK)
        onCommit()
        if (chunk.ended === CHUNK) further.push({ ...stretch, from: chunk.next })
        else over.set(job, stretch)
      }
      const lanes = LANES.map(lane => round.filter(stretch => stretch.lane === lane))
      throwFirst(await Promise.allSettled(lanes.map(stretches => oneByOne(stretches, signal, end))))
      const goingOn = new Set(further.map(({ job }) => job))
      const ended = [...over.values()].filter(({ job }) => !goingOn.has(job))
      await oneByOne(ended, signal, async stretch => {
        further.push(...(await settle(stretch, now)))
      })
      round = further
    }
    return jobs.length === JOBS_PER_TURN ? now : null
  }
}

/** Fails as the first of them has, once all are over. */
function throwFirst(outcomes: readonly PromiseSettledResult<unknown>[]): void {
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
