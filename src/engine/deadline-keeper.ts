/**
 * Takes due timers and does their duty: deadlines are judged, retries made ready, requests of lost senders given back.
 * Refuses to know what any of it means for an operation: the lifecycle does.
 */
import type { Logger } from 'pino'
import { type OperationKey, operationId } from '../domain/identity.ts'
import { FIRST_PLACE } from '../domain/launching.ts'
import { enqueueReady } from '../store/claims.ts'
import type { Database, Transaction } from '../store/database.ts'
import { armTimers, type DueTimer, nextTimerAt, takeDueTimers, timerKeys } from '../store/operation-timers.ts'
import { keyText, type OperationRow, readOpenOperations } from '../store/operations.ts'
import type { Happening } from './operation-draft.ts'
import { applyHappenings } from './operation-transitions.ts'
import type { RequestSender } from './request-sender.ts'

/** Every batch of the busiest minutes arms a row or two, of some hundred operations each: all that is due is taken, a few rows at a time. */
const TIMERS_AT_A_TIME = 8
/** How soon what a living node still has in hand is looked after again. */
const LOOK_AGAIN_MS = 1_000

export interface DeadlineKeeperParts {
  readonly database: Database
  readonly node: number
  readonly livingNodes: () => ReadonlySet<number>
  readonly isSending: RequestSender['isSending']
  readonly log: Logger
  /** counters changed, or something became ready */
  readonly onCommit: () => void
}

/** One turn: the duties of all due timers, some at a time; answers when the next is due. */
export function createDeadlineKeeping(
  parts: DeadlineKeeperParts,
): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  async function keep(tx: Transaction, now: Date): Promise<{ taken: number; lost: readonly OperationRow[] }> {
    const due = await takeDueTimers(tx, now, TIMERS_AT_A_TIME)
    await judgeDeadlines(tx, due, now)
    await readyRetries(tx, due)
    const lost = await lookAfterSends(tx, due, parts, now)
    return { taken: due.length, lost }
  }

  return async (now, signal) => {
    let taken = TIMERS_AT_A_TIME
    while (taken === TIMERS_AT_A_TIME && !signal.aborted) {
      const kept = await parts.database.transaction(tx => keep(tx, now), { byKey: true })
      taken = kept.taken
      if (taken > 0) parts.onCommit()
      for (const row of kept.lost) {
        parts.log.debug(
          { operation: operationId(row), sender: row.sender },
          'the sender of a request is lost: it is given back',
        )
      }
    }
    return await nextTimerAt(parts.database)
  }
}

function keysOf(due: readonly DueTimer[], duty: DueTimer['duty']): OperationKey[] {
  return due.filter(timer => timer.duty === duty).flatMap(timerKeys)
}

async function judgeDeadlines(tx: Transaction, due: readonly DueTimer[], now: Date): Promise<void> {
  const keys = keysOf(due, 'deadline')
  if (keys.length === 0) return
  // A later deadline has a timer of its own.
  const over = (await readOpenOperations(tx, keys)).filter(row => row.deadlineAt !== null && row.deadlineAt <= now)
  await apply(
    tx,
    over.map(key => ({ key, seen: 'deadlineOver' })),
    now,
  )
}

async function readyRetries(tx: Transaction, due: readonly DueTimer[]): Promise<void> {
  const keys = keysOf(due, 'retry')
  if (keys.length === 0) return
  const waiting = (await readOpenOperations(tx, keys)).filter(row => row.status === 'PENDING')
  await enqueueReady(
    tx,
    waiting.map(({ job, partition, entity }) => ({ job, partition, entity, place: FIRST_PLACE })),
  )
}

async function lookAfterSends(
  tx: Transaction,
  due: readonly DueTimer[],
  { node, livingNodes, isSending }: DeadlineKeeperParts,
  now: Date,
): Promise<readonly OperationRow[]> {
  const sends = due.filter(timer => timer.duty === 'send')
  if (sends.length === 0) return []
  const living = livingNodes()
  const askedAbout = new Map<string, Set<number | null>>()
  for (const timer of sends) {
    for (const key of timerKeys(timer)) {
      const nodes = askedAbout.get(keyText(key)) ?? new Set()
      askedAbout.set(keyText(key), nodes.add(timer.node))
    }
  }
  // What another node has taken in hand since has a timer of its own; what nobody has in hand is ready already.
  const queued = (await readOpenOperations(tx, sends.flatMap(timerKeys))).filter(
    row => row.status === 'QUEUED' && row.sender !== null && askedAbout.get(keyText(row))!.has(row.sender),
  )
  const inGoodHands = (row: OperationRow) => (row.sender === node ? isSending(row) : living.has(row.sender!))
  const again = new Date(now.getTime() + LOOK_AGAIN_MS)
  await armTimers(
    tx,
    queued.filter(inGoodHands).map(key => ({ key, dueAt: again, duty: 'send', node: key.sender! })),
  )
  const lost = queued.filter(row => !inGoodHands(row))
  await apply(
    tx,
    lost.map(row => ({ key: row, seen: 'senderLost', node: row.sender! })),
    now,
  )
  return lost
}

async function apply(tx: Transaction, happenings: readonly Happening[], now: Date): Promise<void> {
  if (happenings.length > 0) await applyHappenings(tx, happenings, now)
}
