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
import { type CancellingJob, cancellingJobs } from '../store/jobs-due.ts'
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

export type MassEvent = Extract<OperationEvent, 'userCancel' | 'stopReached' | 'deleted'>

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
export function massEventOf(status: JobStatus): MassEvent {
  return status === 'CANCELLING_BY_ENGINE' ? 'stopReached' : 'userCancel'
}

/** Halves of a job are cancelled side by side: that is as fast as two cores are. */
const LANES = [0, 1]
const LANE_PARTITIONS = PARTITIONS / LANES.length

/**
 * One turn: a chunk of each half of every job being cancelled, so that none waits for the whole of a large one; answers `now` until
 * nothing is open. Where very many are being cancelled, turns go round.
 */
export function createOperationCancelling(
  database: Database,
  settling: JobSettling,
  onCommit: () => void,
): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  let after = 0n
  /** By lane and job, the partition to go on from: what is gone before it need not be passed again. */
  const reached = LANES.map(() => new Map<bigint, number>())
  /** By job, the place below which nothing is ready any more, save what the end of the job takes. */
  const cleared = new Map<bigint, number>()

  /** Takes places back beside the operations: whatever ends the job would otherwise do all of them at once. Its gate is closed. */
  async function clearPlaces(job: bigint): Promise<void> {
    const from = cleared.get(job) ?? 0
    const last = await database.transaction(tx => clearReadyChunk(tx, job, from, CHUNK), { byKey: true })
    if (last !== null) cleared.set(job, Math.max(last, cleared.get(job) ?? 0))
  }

  /** Answers whether there may be more in this lane. */
  async function cancelNext({ job, status }: CancellingJob, lane: number, now: Date): Promise<boolean> {
    const first = lane * LANE_PARTITIONS
    const stretch = { from: reached[lane]!.get(job) ?? first, to: first + LANE_PARTITIONS - 1 }
    const chunk = await database.transaction(tx => cancelChunk(tx, job, massEventOf(status), now, stretch), {
      byKey: true,
    })
    reached[lane]!.set(job, chunk.next)
    await clearPlaces(job)
    onCommit()
    return chunk.ended === CHUNK
  }

  /** Ends a job that was gone through to its end; answers whether something of it was left open, and it is to be gone through again. */
  async function settle(job: bigint, now: Date): Promise<boolean> {
    for (const map of [...reached, cleared]) map.delete(job)
    if (await hasOpenOperations(database, job)) return true
    await database.transaction(tx => settling.settle(tx, [job], now), { byKey: true })
    onCommit()
    return false
  }

  return async (now, signal) => {
    const jobs = await cancellingJobs(database, after, JOBS_PER_TURN)
    const more = new Set<bigint>()
    const inLane = (lane: number) =>
      oneByOne(jobs, signal, async each => {
        if (await cancelNext(each, lane, now)) more.add(each.job)
      })
    throwFirst(await Promise.allSettled(LANES.map(inLane)))
    const over = jobs.filter(({ job }) => !more.has(job))
    await oneByOne(over, signal, async ({ job }) => {
      if (await settle(job, now)) more.add(job)
    })
    after = jobs.length === JOBS_PER_TURN ? jobs.at(-1)!.job : 0n
    return more.size > 0 || after > 0n ? now : null
  }
}

/** Fails as the first of them has, once all are over. */
function throwFirst(outcomes: readonly PromiseSettledResult<unknown>[]): void {
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
