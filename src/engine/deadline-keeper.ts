/**
 * Takes due timers and does their duty: deadlines are judged, retries made ready, requests of lost senders given back. An operation
 * that cannot be written is put off and holds up no other. Refuses to know what any of it means for an operation: the lifecycle does.
 */
import type { Logger } from 'pino'
import { type OperationKey, operationId } from '../domain/identity.ts'
import { FIRST_PLACE } from '../domain/launching.ts'
import { enqueueReady } from '../store/claims.ts'
import type { Database, Transaction } from '../store/database.ts'
import {
  armTimers,
  type DueTimer,
  dropTimer,
  nextTimerAt,
  takeDueTimers,
  timerKeys,
} from '../store/operation-timers.ts'
import { keyText, type OperationRow, readOpenOperations } from '../store/operations.ts'
import { isFaultOfItem } from './batch-faults.ts'
import type { Happening } from './operation-draft.ts'
import { applyHappenings } from './operation-transitions.ts'
import type { RequestSender } from './request-sender.ts'

/** Every batch of the busiest minutes arms a row or two, of some hundred operations each: all that is due is taken, a few rows at a time. */
const TIMERS_AT_A_TIME = 8
/** How soon what a living node still has in hand is looked after again. */
const LOOK_AGAIN_MS = 1_000
/** How soon an operation that cannot be written is tried again: whoever reads of it in the log may have mended it by then. */
const PUT_OFF_MS = 60_000

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
  const { database, log, onCommit } = parts

  /** Keeps at most so many timers; answers how many there were, and what kept them all from being kept. */
  async function keep(now: Date, limit: number): Promise<{ due: readonly DueTimer[]; fault?: unknown }> {
    let due: readonly DueTimer[] = []
    let lost: readonly OperationRow[] = []
    const work = async (tx: Transaction) => {
      due = await takeDueTimers(tx, now, limit)
      await judgeDeadlines(tx, due, now)
      await readyRetries(tx, due)
      lost = await lookAfterSends(tx, due, parts, now)
    }
    try {
      await database.transaction(work, { byKey: true })
    } catch (fault) {
      if (isFaultOfItem(fault)) return { due, fault }
      throw fault
    }
    if (due.length > 0) onCommit()
    for (const row of lost) {
      log.debug(
        { operation: operationId(row), sender: row.sender },
        'the sender of a request is lost: it is given back',
      )
    }
    return { due }
  }

  /** Makes two timers of one that holds an operation at fault, or puts that off where it holds no other; answers whether it did that. */
  async function setApart(timer: DueTimer, now: Date, fault: unknown): Promise<boolean> {
    const { dueAt, duty, node } = timer
    const keys = timerKeys(timer)
    const isAlone = keys.length === 1
    const half = Math.ceil(keys.length / 2)
    const armed = await database.transaction(async tx => {
      if (!(await dropTimer(tx, timer))) return false
      const arm = (some: readonly OperationKey[], at: Date) =>
        armTimers(
          tx,
          some.map(key => ({ key, dueAt: at, duty, ...(node !== null && { node }) })),
        )
      if (isAlone) await arm(keys, new Date(now.getTime() + PUT_OFF_MS))
      else for (const some of [keys.slice(0, half), keys.slice(half)]) await arm(some, dueAt)
      return true
    })
    if (!isAlone || !armed) return false
    log.error({ err: fault, operation: operationId(keys[0]!), duty }, 'the timer of an operation is put off: it fails')
    return true
  }

  return async (now, signal) => {
    let limit = TIMERS_AT_A_TIME
    for (let more = true; more && !signal.aborted; ) {
      const { due, fault } = await keep(now, limit)
      if (fault === undefined) more = due.length === limit
      else if (due.length > 1) limit = 1
      else if (await setApart(due[0]!, now, fault)) limit = TIMERS_AT_A_TIME
    }
    return await nextTimerAt(database)
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
