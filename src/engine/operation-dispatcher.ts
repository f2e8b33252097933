/**
 * Dispatches what is due: shares the free send slots, claims by place, has what was claimed launched, and hands the requests to their
 * senders after the commit; what there is no room for stays ready. Refuses to know why a place is reached, and never launches more
 * than can be sent now.
 */
import { goRound, type Round, shareSlots } from '../domain/fairness.ts'
import { FIRST_PLACE, type Launching, nextReachAt, reachedRanges } from '../domain/launching.ts'
import {
  type Claimed,
  type ClaimWish,
  claimReady,
  enqueueReady,
  enterLaunchGate,
  type LaunchingJob,
  launchingJobs,
} from '../store/claims.ts'
import type { Database, Transaction } from '../store/database.ts'
import type { DeviceNumbers } from '../store/operation-devices.ts'
import { keyText } from '../store/operations.ts'
import { claimLimits } from './claim-limits.ts'
import { launchingOf } from './job-launching.ts'
import { type Launched, type LaunchingParts, launch } from './operation-launching.ts'
import type { OperationMemory } from './operation-memory.ts'
import type { HasRoom, RequestSender, RoutedAddress } from './request-sender.ts'

/** Most jobs looked at in one turn; with more, turns go round. */
const JOBS_PER_TURN = 500
/** How long the remembered places of the last claims are trusted. */
const LOW_TRUSTED_MS = 3_000
const ALL_AT_ONCE = [null]
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

/** One turn: claims and sends what is due; answers when there is more to reach, `now` where slots or jobs were left over. */
export function createOperationDispatch(parts: DispatcherParts): (now: Date) => Promise<Date | null> {
  const { database, sender } = parts
  /** how far jobs were claimed, in each partition or in all at once */
  const lows = new Map<number | null, Map<bigint, number>>()
  let lowsForgottenAt = 0
  // Where the round over many jobs has got to, empty at its beginning, and when the jobs seen in it reach more places.
  let round: Round = new Map()
  let nextAt: number | null = null
  let turns = 0
  const limits = claimLimits()

  function lowsOf(partition: number | null): Map<bigint, number> {
    const known = lows.get(partition) ?? new Map()
    lows.set(partition, known)
    return known
  }

  /** Where something is held back, the round goes on through the whole job before it begins again. */
  function forgetLows(): void {
    for (const known of lows.values()) for (const job of known.keys()) if (!limits.has(job)) known.delete(job)
  }

  /** At the end of a job, of which something was held back, the round begins again where that lies; true where it did. */
  function goBack(job: bigint): boolean {
    if (!limits.has(job)) return false
    const back = [...lows.values()].filter(known => known.delete(job)).length > 0
    if (back) limits.beginAgain(job)
    else limits.forget(job)
    return back
  }

  /** Claims of each partition, another one first every time, until the slots are used or nothing more is to be claimed. */
  async function walk(partitions: readonly (number | null)[], slots: number, now: Date): Promise<Walk> {
    const walked = { claimedOf: new Map<bigint, number>(), held: [] as RoutedAddress[], wished: new Set<bigint>() }
    const mosts = new Map<bigint, number>()
    const most = (job: bigint, hasRoom: HasRoom) => {
      const ofWalk = mosts.get(job) ?? limits.most(job, hasRoom, now.getTime())
      mosts.set(job, ofWalk)
      return ofWalk - (walked.claimedOf.get(job) ?? 0)
    }
    let [claimed, launched, steps] = [0, 0, 0]
    for (;;) {
      const partition = partitions[(turns + steps) % partitions.length]!
      const claim = await claimOf(partition, slots - claimed, most, now)
      steps += 1
      claimed += claim.claimed
      launched += claim.launched
      walked.held.push(...claim.held)
      for (const job of claim.wished) walked.wished.add(job)
      for (const [job, count] of claim.claimedOf) addTo(walked.claimedOf, job, count)
      const whole = steps === partitions.length
      // What may be claimed of a job does not depend on the partition.
      if (whole || claimed >= slots || claim.wished.length === 0)
        return { ...claim, ...walked, claimed, launched, whole }
    }
  }

  /** Claims once, and hands over what was claimed. `partition`: null for all. */
  async function claimOf(partition: number | null, slots: number, most: TurnAt['most'], now: Date): Promise<Turn> {
    const known = lowsOf(partition)
    const claim = await database.transaction(
      tx => claimTurn(tx, parts, { round, slots, turns, lows: known, partition, most }, now),
      { byKey: true },
    )
    parts.memory.note(claim.applied)
    for (const [job, low] of claim.lows) known.set(job, low)
    sender.send(claim.requests, claim.takenAt)
    if (claim.waiting.length > 0) parts.onWaiting(claim.waiting, now)
    return claim
  }

  async function turn(now: Date): Promise<Date | null> {
    const slots = sender.capacity()
    if (slots === 0 || !parts.mayClaim(now)) return new Date(now.getTime() + PAUSE_MS)
    turns += 1
    if (now.getTime() - lowsForgottenAt > LOW_TRUSTED_MS) {
      forgetLows()
      lowsForgottenAt = now.getTime()
    }
    const partitions = parts.partitions()
    if (partitions?.length === 0) return new Date(now.getTime() + PAUSE_MS)
    const claim = await walk(partitions ?? ALL_AT_ONCE, slots, now)
    limits.note(claim.claimedOf, claim.held, now.getTime())
    if (claim.claimed === 0) forgetLows()
    const ended = claim.whole ? [...claim.wished].filter(job => !claim.claimedOf.has(job)) : []
    const wentBack = ended.filter(goBack).length > 0
    if (claim.launched > 0) parts.onCommit()
    nextAt = round.size === 0 ? claim.nextAt : earlier(nextAt, claim.nextAt)
    round = goRound(round, claim.jobs, JOBS_PER_TURN)
    if (claim.launched > 0 || wentBack || round.size > 0) return now
    const lookAt = earlier(nextAt, limits.holdsAny() ? now.getTime() + PAUSE_MS : null)
    return lookAt === null ? null : new Date(lookAt)
  }
  return turn
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

function addTo(counts: Map<bigint, number>, job: bigint, count: number): void {
  counts.set(job, (counts.get(job) ?? 0) + count)
}

interface Turn extends Launched {
  readonly lows: ReadonlyMap<bigint, number>
  readonly claimed: number
  readonly claimedOf: ReadonlyMap<bigint, number>
  /** jobs of which something was to be claimed */
  readonly wished: readonly bigint[]
  /** of those claimed, what was not put back */
  readonly launched: number
  /** looked at */
  readonly jobs: readonly LaunchingJob[]
  readonly nextAt: number | null
}

/** What came of the claims of one turn; what they do not count is the last one's. */
interface Walk extends Omit<Turn, 'wished'> {
  readonly wished: ReadonlySet<bigint>
  /** every partition was claimed of */
  readonly whole: boolean
}

interface TurnAt {
  readonly round: Round
  readonly slots: number
  readonly turns: number
  readonly lows: ReadonlyMap<bigint, number>
  readonly partition: number | null
  /** most that may be claimed of a job now */
  readonly most: (job: bigint, hasRoom: HasRoom) => number
}

async function claimTurn(tx: Transaction, parts: DispatcherParts, at: TurnAt, asked: Date): Promise<Turn> {
  await enterLaunchGate(tx)
  // The gate may have been waited for, and a window or the stop of a job have come meanwhile.
  const now = new Date(Math.max(asked.getTime(), parts.clock.now().getTime()))
  const jobs = await launchingJobs(tx, at.round, JOBS_PER_TURN, now)
  const launchings = new Map(jobs.map(job => [job.job, launchingOf(job)]))
  const wishes = wishesOf(jobs, launchings, at, parts.sender.room(), now)
  const claimed = await claimShares(tx, wishes, at)
  const claimedOf = countOf(claimed)
  const nextAts = [...launchings.values()].map(launching => nextReachAt(launching, now.getTime()))
  const turn = {
    claimed: claimed.length,
    claimedOf,
    wished: wishes.filter(({ quota }) => quota > 0).map(({ job }) => job),
    jobs,
    nextAt: nextAts.reduce(earlier, null),
  }
  if (claimed.length === 0) {
    const nothing = { requests: [], takenAt: now, waiting: [], held: [], applied: { written: [], ended: [] } }
    return { ...turn, ...nothing, launched: 0, lows: new Map() }
  }

  const launched = await launch(tx, parts, claimed, parts.sender.room(), now)
  const held = new Set(launched.held.map(({ key }) => keyText(key)))
  const back = claimed.filter(each => held.has(keyText(each)))
  const newLows = new Map<bigint, number>()
  for (const each of claimed) {
    // What was put back lies before the next claim, too: it would be claimed at the head of every one.
    const low = each.place + (held.has(keyText(each)) ? 1 : 0)
    if (each.place !== FIRST_PLACE) newLows.set(each.job, Math.max(low, newLows.get(each.job) ?? 0))
  }
  const ready = back.map(each => ({ ...each, place: placeBack(each, launchings.get(each.job)!, now) }))
  tx.behind(enqueueReady(tx, ready))
  return { ...turn, ...launched, launched: claimed.length - back.length, lows: newLows }
}

/**
 * Where what could not be sent becomes ready again: not among the first, where it would be claimed ahead of everything else of its job
 * for as long as there is no room for it.
 */
function placeBack({ place }: Claimed, launching: Launching, now: Date): number {
  if (place !== FIRST_PLACE) return place
  return reachedRanges(launching, now.getTime()).find(({ low }) => low !== FIRST_PLACE)?.low ?? FIRST_PLACE
}

function countOf(claimed: readonly Claimed[]): Map<bigint, number> {
  const counts = new Map<bigint, number>()
  for (const { job } of claimed) addTo(counts, job, 1)
  return counts
}

/** What may be claimed of a job, and the most of it. */
type LimitedWish = ClaimWish & { readonly most: number }

/** What may be claimed of each job that has reached anything: its lanes with its share, and no lower than was claimed before. */
function wishesOf(
  jobs: readonly LaunchingJob[],
  launchings: ReadonlyMap<bigint, Launching>,
  { slots, turns, lows, most: mostOf }: TurnAt,
  hasRoom: HasRoom,
  now: Date,
): LimitedWish[] {
  const open = jobs
    .map(job => ({ job, lanes: reachedRanges(launchings.get(job.job)!, now.getTime()) }))
    .filter(({ lanes }) => lanes.length > 0)
    .map(each => ({ ...each, most: mostOf(each.job.job, hasRoom) }))
    .filter(({ most }) => most > 0)
  const quotas = shareSlots(
    slots,
    open.map(({ job }) => job),
    turns,
  )
  return open.map(({ job, lanes, most }, index) => {
    // Only what has not been overdue is claimed in order of place, so only there a claim can be remembered.
    const firstInOrder = Math.max(FIRST_PLACE + 1, launchings.get(job.job)!.overdue?.places ?? 0)
    const remembered = lanes.map(({ low, reached }) => ({
      low: low === firstInOrder ? Math.max(low, lows.get(job.job) ?? 0) : low,
      reached,
    }))
    return { job: job.job, lanes: remembered, quota: Math.min(quotas[index]!, most), most }
  })
}

/** Claims every job's share; what is left goes to those that may have more, beginning with another one each turn. */
async function claimShares(
  tx: Transaction,
  wishes: readonly LimitedWish[],
  { slots, turns, partition }: TurnAt,
): Promise<Claimed[]> {
  const shares = await claimReady(
    tx,
    wishes.filter(wish => wish.quota > 0),
    slots,
    partition,
  )
  const left = slots - shares.length
  const claimed = countOf(shares)
  const hungry = wishes.filter(wish => wish.quota < wish.most && (claimed.get(wish.job) ?? 0) === wish.quota)
  if (left === 0 || hungry.length === 0) return shares
  const first = turns % hungry.length
  const inTurn = [...hungry.slice(first), ...hungry.slice(0, first)].map(wish => ({
    ...wish,
    quota: Math.min(left, wish.most - wish.quota),
  }))
  return [...shares, ...(await claimReady(tx, inTurn, left, partition))]
}
