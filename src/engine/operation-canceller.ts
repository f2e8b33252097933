/**
 * Ends open operations by the thousand: of jobs being cancelled, and of entities and types that go. The decision is the
 * lifecycle's, made once per status. Refuses to decide when a job is cancelled.
 */
import { openCounter } from '../domain/counters.ts'
import type { JobStatus } from '../domain/job.ts'
import { decide, OPEN_STATUSES, type OperationEvent, phaseOf } from '../domain/operation.ts'
import { clearReadyChunk } from '../store/claims.ts'
import { CounterDeltas, writeDeltas } from '../store/counters.ts'
import type { Database, Transaction } from '../store/database.ts'
import { cancellingJobs } from '../store/jobs.ts'
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

/** Ends up to `limit` operations of a job in the caller's transaction; answers how many, and the partition to go on from. */
export async function cancelChunk(
  tx: Transaction,
  job: bigint,
  event: MassEvent,
  now: Date,
  fromPartition: number,
  limit = CHUNK,
): Promise<{ ended: number; nextPartition: number }> {
  const moves = await endOperationsOfJob(tx, massAnswers(event), now, { job, fromPartition, limit })
  await count(tx, moves)
  return {
    ended: moves.reduce((sum, move) => sum + move.count, 0),
    nextPartition: Math.max(fromPartition, ...moves.map(move => move.lastPartition)),
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

/** One turn: a chunk of every job being cancelled, round after round until nothing is open or the signal aborts. */
export function createOperationCancelling(
  database: Database,
  settling: JobSettling,
  onCommit: () => void,
): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  return async (now, signal) => {
    const jobs = await cancellingJobs(database, JOBS_PER_TURN)
    let round = jobs.map(job => ({ ...job, fromPartition: 0 }))
    while (round.length > 0 && !signal.aborted) {
      const further: typeof round = []
      await oneByOne(round, signal, async ({ job, status, fromPartition }) => {
        const chunk = await database.transaction(tx => cancelChunk(tx, job, massEventOf(status), now, fromPartition))
        // Whatever ends the job would otherwise do all of it at once. Its gate is closed: nothing claims these any more.
        await clearReadyChunk(database, job, CHUNK)
        onCommit()
        if (chunk.ended === CHUNK) further.push({ job, status, fromPartition: chunk.nextPartition })
        else if (await hasOpenOperations(database, job)) further.push({ job, status, fromPartition: 0 })
        else await database.transaction(tx => settling.settle(tx, [job], now))
      })
      round = further
    }
    return jobs.length === JOBS_PER_TURN ? now : null
  }
}
