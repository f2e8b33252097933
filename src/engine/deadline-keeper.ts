/**
 * Takes due timers and does their duty: deadlines are judged, retries made ready, requests of lost senders given back.
 * Refuses to know what any of it means for an operation: the lifecycle does.
 */
import type { OperationKey } from '../domain/identity.ts'
import { FIRST_PLACE } from '../domain/launching.ts'
import { enqueueReady } from '../store/claims.ts'
import type { Database, Transaction } from '../store/database.ts'
import { armTimers, type DueTimer, nextTimerAt, takeDueTimers, timerKeys } from '../store/operation-timers.ts'
import { type OperationRow, readOpenOperations } from '../store/operations.ts'
import type { Happening } from './operation-draft.ts'
import { applyHappenings } from './operation-transitions.ts'

const TIMERS_PER_TURN = 8
const SEND_TIMER_MS = 5_000

export interface DeadlineKeeperParts {
  readonly database: Database
  readonly node: number
  readonly livingNodes: () => ReadonlySet<number>
  readonly isSending: (key: OperationKey) => boolean
  /** counters changed, or something became ready */
  readonly onCommit: () => void
}

/** One turn: the duties of at most a few due timers; answers when the next is due. */
export function createDeadlineKeeping(parts: DeadlineKeeperParts): (now: Date) => Promise<Date | null> {
  return async now => {
    const taken = await parts.database.transaction(async tx => {
      const due = await takeDueTimers(tx, now, TIMERS_PER_TURN)
      await judgeDeadlines(tx, due, now)
      await readyRetries(tx, due)
      await lookAfterSends(tx, due, parts, now)
      return due.length
    })
    if (taken > 0) parts.onCommit()
    return taken === TIMERS_PER_TURN ? now : await nextTimerAt(parts.database)
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
  await apply(tx, over, 'deadlineOver', now)
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
): Promise<void> {
  const sends = due.filter(timer => timer.duty === 'send')
  if (sends.length === 0) return
  const living = livingNodes()
  const stillQueued = (await readOpenOperations(tx, sends.flatMap(timerKeys))).filter(row => row.status === 'QUEUED')
  const senderOf = new Map(sends.flatMap(timer => timerKeys(timer).map(key => [key.entity, timer.node] as const)))
  const inGoodHands = (row: OperationRow) => {
    const sender = senderOf.get(row.entity)
    return sender === node ? isSending(row) : sender !== null && sender !== undefined && living.has(sender)
  }
  const again = new Date(now.getTime() + SEND_TIMER_MS)
  await armTimers(
    tx,
    stillQueued.filter(inGoodHands).map(key => ({ key, dueAt: again, duty: 'send', node: senderOf.get(key.entity)! })),
  )
  await apply(
    tx,
    stillQueued.filter(row => !inGoodHands(row)),
    'senderLost',
    now,
  )
}

async function apply(
  tx: Transaction,
  rows: readonly OperationRow[],
  seen: 'deadlineOver' | 'senderLost',
  now: Date,
): Promise<void> {
  if (rows.length === 0) return
  const happenings: Happening[] = rows.map(key => ({ key, seen }))
  await applyHappenings(tx, happenings, now)
}
