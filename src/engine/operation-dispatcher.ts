/**
 * Dispatches what is due: turn by turn it has what there are free send slots for claimed and launched, and hands the requests to their senders
 * after the commit; what there is no room for stays ready. Refuses to know why a place is reached, and never launches more than can be
 * sent now.
 */
import { goRound, type Round } from '../domain/fairness.ts'
import type { Database, Transaction } from '../store/database.ts'
import type { DeviceNumbers } from '../store/operation-devices.ts'
import { isFaultOfContent, wasOtherwise } from './batch-faults.ts'
import { claimLimits } from './claim-limits.ts'
import {
  ALL_PARTITIONS,
  type Claim,
  type ClaimingParts,
  claimOfAll,
  claimOfPartition,
  JOBS_PER_TURN,
  lookAround,
  type Page,
  type TurnAt,
} from './operation-claiming.ts'
import type { LaunchingParts } from './operation-launching.ts'
import type { OperationMemory } from './operation-memory.ts'
import type { RequestSender, RoutedAddress } from './request-sender.ts'
import { createTrust } from './trust.ts'

/** How long the remembered places of the last claims are trusted. */
const LOW_TRUSTED_MS = 3_000
/** How soon to look again for free send slots, or for a heartbeat. */
const PAUSE_MS = 20

export interface DispatcherParts extends LaunchingParts {
  readonly database: Database
  readonly memory: Pick<OperationMemory, 'note'>
  readonly sender: RequestSender
  /** whether this node is known as living: another must not take its claims for lost */
  readonly mayClaim: (now: Date) => boolean
  /** the partitions that this node claims of, one at a time; null where it claims of all at once */
  readonly partitions: () => readonly number[] | null
  /** devices for which operations wait from now on */
  readonly onWaiting: (devices: readonly DeviceNumbers[], awayAt: Date) => void
  readonly onCommit: () => void
}

/** What came of the claims of a turn. */
interface Turn extends Page {
  readonly claimedOf: ReadonlyMap<bigint, number>
  readonly launched: number
  readonly held: readonly RoutedAddress[]
}

/** One turn: claims and sends what is due; answers when there is more to reach, `now` where slots or jobs were left over. */
export function createOperationDispatch(
  parts: DispatcherParts,
): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  const { database, sender } = parts
  const lows = new Map<bigint, Map<number, number>>()
  let lowsForgottenAt = 0
  // Where the round over many jobs has got to, empty at its beginning, and when the jobs seen in it reach more places.
  let round: Round = new Map()
  let nextAt: number | null = null
  let turns = 0
  const limits = claimLimits()

  /** Where something is held back, the round goes on through the whole job before it begins again. */
  function forgetLows(): void {
    for (const job of lows.keys()) if (!limits.has(job)) lows.delete(job)
  }

  /** At the end of a job, of which something was held back, the round begins again where that lies; true where it did. */
  function goBack(job: bigint): boolean {
    if (!limits.has(job)) return false
    const back = lows.delete(job)
    if (back) limits.beginAgain(job)
    else limits.forget(job)
    return back
  }

  const trust = createTrust()

  /** In a transaction of its own, which is done again, carefully, where it was undone by what it trusted in. */
  async function inTransaction<C>(work: (tx: Transaction, parts: ClaimingParts) => Promise<C>): Promise<C> {
    const withTrust = (trusting: boolean) =>
      database.transaction(tx => work(tx, { ...parts, trusting }), { byKey: true })
    if (!trust.holds()) {
      trust.spend()
      return await withTrust(false)
    }
    try {
      return await withTrust(true)
    } catch (error) {
      if (!isFaultOfContent(error)) throw error
      if (wasOtherwise(error)) trust.lose()
      return await withTrust(false)
    }
  }

  /** Claims once, and hands over what was claimed. */
  async function claim<C extends Claim>(
    partition: number,
    now: Date,
    work: (tx: Transaction, parts: ClaimingParts) => Promise<C>,
  ): Promise<C> {
    const claimed = await inTransaction(work)
    parts.memory.note(claimed.applied)
    for (const [job, low] of claimed.lows) lows.set(job, (lows.get(job) ?? new Map()).set(partition, low))
    sender.send(claimed.requests, claimed.takenAt)
    if (claimed.waiting.length > 0) parts.onWaiting(claimed.waiting, now)
    return claimed
  }

  /** Claims of each partition in which something of a share lies, another one first every time. */
  async function claimByPartition(partitions: readonly number[], at: TurnAt, signal: AbortSignal): Promise<Turn> {
    const look = (tx: Transaction) => lookAround(tx, partitions, at)
    const { shares, partitionsOf, ...page } = await database.transaction(look, { byKey: true, snapshot: true })
    const claimedOf = new Map<bigint, number>()
    const leftOf = (job: bigint) => shares.get(job)! - (claimedOf.get(job) ?? 0)
    const held: RoutedAddress[] = []
    let launched = 0
    const first = at.turn % partitions.length
    for (const partition of [...partitions.slice(first), ...partitions.slice(0, first)]) {
      if (signal.aborted) break
      const here = [...shares.keys()].filter(job => partitionsOf.get(job)?.has(partition) && leftOf(job) > 0)
      if (here.length === 0) continue
      const left = new Map(here.map(job => [job, leftOf(job)]))
      const claimed = await claim(partition, at.askedAt, (tx, parts) =>
        claimOfPartition(tx, parts, partition, left, at),
      )
      for (const [job, count] of claimed.claimedOf) claimedOf.set(job, count + (claimedOf.get(job) ?? 0))
      held.push(...claimed.held)
      launched += claimed.launched
    }
    return { ...page, claimedOf, held, launched }
  }

  return async (now, signal) => {
    const slots = sender.capacity()
    if (slots === 0 || !parts.mayClaim(now)) return new Date(now.getTime() + PAUSE_MS)
    turns += 1
    if (now.getTime() - lowsForgottenAt > LOW_TRUSTED_MS) {
      forgetLows()
      lowsForgottenAt = now.getTime()
    }
    const partitions = parts.partitions()
    if (partitions?.length === 0) return new Date(now.getTime() + PAUSE_MS)
    const hasRoom = sender.room()
    const most = (job: bigint) => limits.most(job, hasRoom, now.getTime())
    const at = { turn: turns, askedAt: now, slots, round, lows, most }
    const turn: Turn = partitions
      ? await claimByPartition(partitions, at, signal)
      : await claim(ALL_PARTITIONS, now, (tx, parts) => claimOfAll(tx, parts, at))
    limits.note(turn.claimedOf, turn.held, now.getTime())
    if (turn.claimedOf.size === 0) forgetLows()
    const wentBack = turn.atEnd.filter(goBack).length > 0
    if (turn.launched > 0) parts.onCommit()
    nextAt = round.size === 0 ? turn.nextAt : earlier(nextAt, turn.nextAt)
    round = goRound(round, turn.jobs, JOBS_PER_TURN)
    if (turn.launched > 0 || wentBack || round.size > 0) return now
    const lookAt = earlier(nextAt, limits.holdsAny() ? now.getTime() + PAUSE_MS : null)
    return lookAt === null ? null : new Date(lookAt)
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}
