/**
 * Dispatches what is due: shares the free send slots, claims by place, has what was claimed launched, and hands the requests to their
 * senders after the commit. Refuses to know why a place is reached, and never claims more than can be sent now.
 */
import { shareSlots } from '../domain/fairness.ts'
import { FIRST_PLACE, type Launching, nextReachAt, reachedRanges } from '../domain/launching.ts'
import {
  type Claimed,
  type ClaimWish,
  claimReady,
  enterLaunchGate,
  type LaunchingJob,
  launchingJobs,
} from '../store/claims.ts'
import type { Database, Transaction } from '../store/database.ts'
import type { DeviceNumbers } from '../store/operation-devices.ts'
import { readOpenOperations } from '../store/operations.ts'
import { launchingOf } from './job-launching.ts'
import { type Launched, type LaunchingParts, launch } from './operation-launching.ts'
import type { OperationMemory } from './operation-memory.ts'
import type { RequestSender } from './request-sender.ts'

/** Most jobs looked at in one turn; with more, turns go round. */
const JOBS_PER_TURN = 500
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

/** One turn: claims and sends what is due; answers when there is more to reach, `now` where slots or jobs were left over. */
export function createOperationDispatch(parts: DispatcherParts): (now: Date) => Promise<Date | null> {
  const { database, sender } = parts
  const lows = new Map<bigint, number>()
  let lowsForgottenAt = 0
  // Where the round over many jobs has got to, and when the jobs seen in it reach more places.
  let after = 0n
  let nextAt: number | null = null
  let turns = 0

  /** Claims of each partition in turn, another one first every time, until the slots are used or nothing is left. */
  async function claimEach(partitions: readonly number[], slots: number, now: Date): Promise<Turn> {
    const first = turns % partitions.length
    let sum = await claimOf(partitions[first]!, slots, now)
    for (let i = 1; i < partitions.length && sum.jobs > 0 && sum.claimed < slots; i += 1) {
      const next = await claimOf(partitions[(first + i) % partitions.length]!, slots - sum.claimed, now)
      sum = { ...next, claimed: sum.claimed + next.claimed }
    }
    return sum
  }

  /** Claims once, and hands over what was claimed. `partition`: null for all. */
  async function claimOf(partition: number | null, slots: number, now: Date): Promise<Turn> {
    // Of one partition the places are not claimed in order, so nothing is remembered of them.
    const known = partition === null ? lows : new Map()
    const claim = await database.transaction(
      tx => claimTurn(tx, parts, { after, slots, turns, lows: known, partition }, now),
      { byKey: true },
    )
    parts.memory.note(claim.applied)
    if (claim.claimed === 0) lows.clear()
    for (const [job, low] of claim.lows) if (partition === null) lows.set(job, low)
    sender.send(claim.requests, claim.takenAt)
    if (claim.waiting.length > 0) parts.onWaiting(claim.waiting, now)
    return claim
  }

  async function turn(now: Date): Promise<Date | null> {
    const slots = sender.capacity()
    if (slots === 0 || !parts.mayClaim(now)) return new Date(now.getTime() + PAUSE_MS)
    turns += 1
    if (now.getTime() - lowsForgottenAt > LOW_TRUSTED_MS) {
      lows.clear()
      lowsForgottenAt = now.getTime()
    }
    const partitions = parts.partitions()
    if (partitions?.length === 0) return new Date(now.getTime() + PAUSE_MS)
    const claim = partitions ? await claimEach(partitions, slots, now) : await claimOf(null, slots, now)
    if (claim.claimed > 0) parts.onCommit()
    const roundEnded = claim.jobs < JOBS_PER_TURN
    nextAt = after === 0n ? claim.nextAt : earlier(nextAt, claim.nextAt)
    after = roundEnded ? 0n : claim.last
    return claim.claimed > 0 || !roundEnded ? now : nextAt === null ? null : new Date(nextAt)
  }
  return turn
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

interface Turn extends Launched {
  readonly lows: ReadonlyMap<bigint, number>
  readonly claimed: number
  /** jobs looked at, and the last of them */
  readonly jobs: number
  readonly last: bigint
  readonly nextAt: number | null
}

async function claimTurn(
  tx: Transaction,
  parts: DispatcherParts,
  at: {
    readonly after: bigint
    readonly slots: number
    readonly turns: number
    readonly lows: ReadonlyMap<bigint, number>
    readonly partition: number | null
  },
  now: Date,
): Promise<Turn> {
  await enterLaunchGate(tx)
  const jobs = await launchingJobs(tx, at.after, JOBS_PER_TURN)
  const launchings = new Map(jobs.map(job => [job.job, launchingOf(job)]))
  const claimed = await claimShares(tx, wishesOf(jobs, launchings, at, now), at)
  const nextAts = [...launchings.values()].map(launching => nextReachAt(launching, now.getTime()))
  const turn = {
    claimed: claimed.length,
    jobs: jobs.length,
    last: jobs.at(-1)?.job ?? 0n,
    nextAt: nextAts.reduce(earlier, null),
  }
  if (claimed.length === 0) {
    return { ...turn, requests: [], takenAt: now, waiting: [], lows: new Map(), applied: { written: [], ended: [] } }
  }

  const newLows = new Map<bigint, number>()
  for (const { job, place } of claimed) {
    if (place !== FIRST_PLACE) newLows.set(job, Math.max(place, newLows.get(job) ?? 0))
  }
  const rows = await readOpenOperations(tx, claimed)
  const launched = await launch(tx, parts, rows, now)
  return { ...turn, ...launched, lows: newLows }
}

/** What may be claimed of each job that has reached anything: its lanes with its share, and no lower than was claimed before. */
function wishesOf(
  jobs: readonly LaunchingJob[],
  launchings: ReadonlyMap<bigint, Launching>,
  { slots, turns, lows }: { slots: number; turns: number; lows: ReadonlyMap<bigint, number> },
  now: Date,
): ClaimWish[] {
  const open = jobs
    .map(job => ({ job, lanes: reachedRanges(launchings.get(job.job)!, now.getTime()) }))
    .filter(({ lanes }) => lanes.length > 0)
  const quotas = shareSlots(
    slots,
    open.map(({ job }) => job),
    turns,
  )
  return open.map(({ job, lanes }, index) => {
    // Only what has not been overdue is claimed in order of place, so only there a claim can be remembered.
    const firstInOrder = Math.max(FIRST_PLACE + 1, launchings.get(job.job)!.overdue?.places ?? 0)
    const remembered = lanes.map(({ low, reached }) => ({
      low: low === firstInOrder ? Math.max(low, lows.get(job.job) ?? 0) : low,
      reached,
    }))
    return { job: job.job, lanes: remembered, quota: quotas[index]! }
  })
}

/** Claims every job's share; what is left goes to those that may have more, beginning with another one each turn. */
async function claimShares(
  tx: Transaction,
  wishes: readonly ClaimWish[],
  { slots, turns, partition }: { slots: number; turns: number; partition: number | null },
): Promise<Claimed[]> {
  const shares = await claimReady(
    tx,
    wishes.filter(wish => wish.quota > 0),
    slots,
    partition,
  )
  const left = slots - shares.length
  const claimed = new Map<bigint, number>()
  for (const { job } of shares) claimed.set(job, (claimed.get(job) ?? 0) + 1)
  const hungry = wishes.filter(wish => (claimed.get(wish.job) ?? 0) === wish.quota)
  if (left === 0 || hungry.length === 0) return shares
  const first = turns % hungry.length
  const inTurn = [...hungry.slice(first), ...hungry.slice(0, first)].map(wish => ({ ...wish, quota: left }))
  return [...shares, ...(await claimReady(tx, inTurn, left, partition))]
}
