/**
 * Claims what is due and has it launched, in one transaction: behind the gate lock it judges the jobs by their gates, shares the slots out
 * among those that are open, and puts back what there is no room to send. Refuses to remember anything from one claim to the next.
 */
import type { Round } from '../domain/fairness.ts'
import { jobGates } from '../domain/gates.ts'
import type { OperationKey } from '../domain/identity.ts'
import { FIRST_PLACE, type Launching, nextReachAt, type PlaceRange, reachedRanges } from '../domain/launching.ts'
import { type Claimed, claimReady, enqueueReady, lookAtReady } from '../store/claims.ts'
import type { Transaction } from '../store/database.ts'
import {
  enterLaunchGate,
  type JobInLine,
  type LaunchingJob,
  readJobsInLine,
  readLaunchingJobs,
} from '../store/launch-gate.ts'
import { keyText } from '../store/operations.ts'
import type { Clock } from './clock.ts'
import { gatedJobOf, launchingOf } from './job-launching.ts'
import { type Launched, type LaunchingParts, launch } from './operation-launching.ts'
import type { RequestSender } from './request-sender.ts'
import { shareOut, type Wish } from './slot-sharing.ts'

/** Most jobs looked at in one turn; with more, turns go round. */
export const JOBS_PER_TURN = 500

export interface ClaimingParts extends LaunchingParts {
  /** as for a launch */
  readonly trusting: boolean
  readonly sender: Pick<RequestSender, 'room'>
}

/** How far each job was claimed in order of place, by partition. */
export type Lows = ReadonlyMap<bigint, ReadonlyMap<number, number>>
/** Where `Lows` keep what was claimed of all partitions at once. */
export const ALL_PARTITIONS = -1

/** What is the same for all claims of a turn. */
export interface TurnAt {
  /** its number */
  readonly turn: number
  readonly askedAt: Date
  readonly slots: number
  readonly round: Round
  readonly lows: Lows
  /** most that may be claimed of a job now */
  readonly most: (job: bigint) => number
}

/** The jobs that a turn looks at. */
export interface Page {
  readonly jobs: readonly JobInLine[]
  /** when one of them reaches more places */
  readonly nextAt: number | null
  /** those of which nothing was there from where they were claimed last */
  readonly atEnd: readonly bigint[]
}

/** What came of a claim. */
export interface Claim extends Launched {
  /** how many of each job, of those of which there were any */
  readonly claimedOf: ReadonlyMap<bigint, number>
  /** of those claimed, what was not put back */
  readonly launched: number
  /** below which place nothing is left of a job, whether launched or put back */
  readonly lows: ReadonlyMap<bigint, number>
}

/** Claims of all partitions at once, in the order of places. */
export async function claimOfAll(tx: Transaction, parts: ClaimingParts, at: TurnAt): Promise<Claim & Page> {
  const [now, jobs] = await Promise.all([
    enterGate(tx, parts.clock, at.askedAt),
    readJobsInLine(tx, at.round, JOBS_PER_TURN, at.askedAt),
  ])
  const { wishes, launchings, nextAt } = judge(jobs, now, at.most)
  const claimed: Claimed[] = []
  const goingOn = wishes.map(wish => ({ ...wish, lanes: lanesFrom(wish, at.lows.get(wish.job)?.get(ALL_PARTITIONS)) }))
  const shares = await shareOut(at.slots, goingOn, at.turn, {
    async withAny(hungry) {
      const seen = await lookAtReady(
        tx,
        hungry.map(wish => ({ ...wish, quota: 1, lows: new Map() })),
        null,
      )
      return new Set(seen.map(({ job }) => job))
    },
    async take(asked) {
      const taken = await claimReady(tx, asked, null)
      claimed.push(...taken)
      return countOf(taken)
    },
  })
  return { jobs, nextAt, atEnd: withNone(shares), ...(await launchClaimed(tx, parts, claimed, launchings, now)) }
}

/** Where the shares of jobs lie, as it is seen without taking anything: somebody else may take it meanwhile. */
export interface Outlook extends Page {
  /** of each job as many as it may have now */
  readonly shares: ReadonlyMap<bigint, number>
  readonly partitionsOf: ReadonlyMap<bigint, ReadonlySet<number>>
}

/**
 * Shares out what is due over all of these partitions, before any of them is claimed of: what is left over in one would go to whoever has
 * something there, while others wait for theirs to come round. Expects a snapshot.
 */
export async function lookAround(tx: Transaction, partitions: readonly number[], at: TurnAt): Promise<Outlook> {
  const jobs = await readJobsInLine(tx, at.round, JOBS_PER_TURN, at.askedAt)
  const { wishes, nextAt } = judge(jobs, at.askedAt, at.most)
  const partitionsOf = new Map<bigint, ReadonlySet<number>>()
  const see = async (wanted: readonly (LaneWish & { readonly quota: number })[]) => {
    const looks = wanted.map(wish => ({ ...wish, lows: at.lows.get(wish.job) ?? new Map() }))
    return Map.groupBy(await lookAtReady(tx, looks, partitions), ({ job }) => job)
  }
  const shares = await shareOut(at.slots, wishes, at.turn, {
    withAny: async hungry => new Set((await see(hungry.map(wish => ({ ...wish, quota: 1 })))).keys()),
    async take(asked) {
      // Nothing is taken by a look: what was seen before is seen again.
      const seen = await see(asked.map(share => ({ ...share, quota: share.given + share.quota })))
      for (const [job, lying] of seen) partitionsOf.set(job, new Set(lying.map(({ partition }) => partition)))
      const seenOf = (job: bigint) => (seen.get(job) ?? []).reduce((sum, { count }) => sum + count, 0)
      return new Map(asked.map(({ job, given }) => [job, seenOf(job) - given]))
    },
  })
  return { jobs, nextAt, atEnd: withNone(shares), shares, partitionsOf }
}

/** Claims of one partition, of each job no more than its share. */
export async function claimOfPartition(
  tx: Transaction,
  parts: ClaimingParts,
  partition: number,
  shares: ReadonlyMap<bigint, number>,
  at: Pick<TurnAt, 'askedAt' | 'lows'>,
): Promise<Claim> {
  const [now, jobs] = await Promise.all([
    enterGate(tx, parts.clock, at.askedAt),
    readLaunchingJobs(tx, [...shares.keys()]),
  ])
  const { wishes, launchings } = judge(jobs, now, job => shares.get(job)!)
  const goingOn = wishes.map(wish => ({
    ...wish,
    lanes: lanesFrom(wish, at.lows.get(wish.job)?.get(partition)),
    quota: wish.most,
  }))
  const claimed = await claimReady(tx, goingOn, partition)
  return await launchClaimed(tx, parts, claimed, launchings, now)
}

/**
 * Answers the instant to judge by: the gate may have been waited for, and a window or the stop of a job have come meanwhile. What is asked
 * behind it is read once the gate was got.
 */
async function enterGate(tx: Transaction, clock: Pick<Clock, 'now'>, askedAt: Date): Promise<Date> {
  await enterLaunchGate(tx)
  return new Date(Math.max(askedAt.getTime(), clock.now().getTime()))
}

/** A job whose gates are open, and the lanes of places that it has reached. */
interface LaneWish extends Wish {
  readonly lanes: readonly PlaceRange[]
  /** from here on it is claimed in order of place: only of these a claim can be remembered by its place */
  readonly inOrderFrom: number
}

/** The jobs whose gates are open and that have reached places of which more may be claimed, and how all of them launch. */
function judge(jobs: readonly LaunchingJob[], now: Date, most: TurnAt['most']) {
  const at = now.getTime()
  const launchings = new Map(jobs.map(job => [job.job, launchingOf(job)]))
  const wishes = jobs
    .filter(job => jobGates(gatedJobOf(job), at).length === 0)
    .map(({ job, organization }): Omit<LaneWish, 'most'> => {
      const launching = launchings.get(job)!
      const inOrderFrom = Math.max(FIRST_PLACE + 1, launching.overdue?.places ?? 0)
      return { job, organization, lanes: reachedRanges(launching, at), inOrderFrom }
    })
    .filter(({ lanes }) => lanes.length > 0)
    .map((wish): LaneWish => ({ ...wish, most: most(wish.job) }))
    .filter(wish => wish.most > 0)
  const nextAts = [...launchings.values()].map(launching => nextReachAt(launching, at)).filter(next => next !== null)
  return { launchings, wishes, nextAt: nextAts.length === 0 ? null : Math.min(...nextAts) }
}

function lanesFrom({ lanes, inOrderFrom }: LaneWish, low = 0): PlaceRange[] {
  return lanes.map(lane => (lane.low === inOrderFrom ? { ...lane, low: Math.max(low, lane.low) } : lane))
}

async function launchClaimed(
  tx: Transaction,
  parts: ClaimingParts,
  claimed: readonly Claimed[],
  launchings: ReadonlyMap<bigint, Launching>,
  now: Date,
): Promise<Claim> {
  if (claimed.length === 0) {
    const applied = { written: [], ended: [], rules: [] }
    const nothing = { requests: [], takenAt: now, waiting: [], held: [], applied }
    return { ...nothing, launched: 0, claimedOf: new Map(), lows: new Map() }
  }
  const launched = await launch(tx, parts, claimed, parts.sender.room(), now)
  const held = new Set(launched.held.map(({ key }) => keyText(key)))
  const isHeld = (key: OperationKey) => held.size > 0 && held.has(keyText(key))
  const back = claimed.filter(isHeld)
  const lows = new Map<bigint, number>()
  for (const each of claimed) {
    // What was put back lies before the next claim, too: it would be claimed at the head of every one.
    const low = each.place + (isHeld(each) ? 1 : 0)
    if (each.place !== FIRST_PLACE) lows.set(each.job, Math.max(low, lows.get(each.job) ?? 0))
  }
  const ready = back.map(each => ({ ...each, place: placeBack(each, launchings.get(each.job)!, now) }))
  tx.behind(enqueueReady(tx, ready))
  return { ...launched, launched: claimed.length - back.length, claimedOf: countOf(claimed), lows }
}

/**
 * Where what could not be sent becomes ready again: not among the first, where it would be claimed ahead of everything else of its job
 * for as long as there is no room for it.
 */
function placeBack({ place }: Claimed, launching: Launching, now: Date): number {
  if (place !== FIRST_PLACE) return place
  return reachedRanges(launching, now.getTime()).find(({ low }) => low !== FIRST_PLACE)?.low ?? FIRST_PLACE
}

const withNone = (counts: ReadonlyMap<bigint, number>) =>
  [...counts].flatMap(([job, count]) => (count === 0 ? [job] : []))

function countOf(claimed: readonly Claimed[]): Map<bigint, number> {
  const counts = new Map<bigint, number>()
  for (const { job } of claimed) counts.set(job, (counts.get(job) ?? 0) + 1)
  return counts
}
