/**
 * How the launches of a job lie in time: the layout by which the engine launches, and what can be said of it beforehand. All of it
 * is arithmetic over places; it knows no operation, and nothing of how fast the service sends.
 */
import { hourMs, type Instant } from './instants.ts'
import type { Launching } from './launching.ts'
import { placeReachedAt } from './launching.ts'
import {
  drainReserve,
  effectiveTime,
  type RateWarning,
  type Scattering,
  scatteringWarnings,
  spread,
} from './scattering.ts'
import { type Schedule, stopAt } from './schedule.ts'
import { type Occurrence, occurrences } from './window.ts'

/** The time limits of one operation, in milliseconds; 0 is none. */
export interface TimeLimits {
  readonly ackTimeoutMs: number
  readonly timeoutMs: number
}

/** How a job launches that starts at an instant. Spans in milliseconds of open window time. */
export interface Layout {
  readonly launching: Launching
  readonly stopAt: Instant | null
  readonly effectiveMs: number
  readonly drainReserveMs: number
  readonly warnings: readonly RateWarning[]
}

/** Lays out the launches of `places` operations from `launchAt` on. Serves: Scattering fields. */
export function layOut(schedule: Schedule, limits: TimeLimits, launchAt: Instant, places: number): Layout {
  const { window, scattering } = schedule
  const stop = stopAt(schedule, launchAt)
  const effectiveMs = effectiveTime(window, launchAt, stop)
  const drainReserveMs = drainReserve(effectiveMs, limits.ackTimeoutMs, limits.timeoutMs)
  const spreadMs = spread(effectiveMs, drainReserveMs, scattering?.maxSpread ?? 0)
  return {
    launching: { places, spreadMs, launchAt, window, overdue: null },
    stopAt: stop,
    effectiveMs,
    drainReserveMs,
    warnings: scatteringWarnings(places, spreadMs, scattering?.warningMaxRate ?? null),
  }
}

/** Launches in one hour of UTC. */
export interface HourOfLaunches {
  readonly at: Instant
  readonly launches: number
}

/** What can be said of a layout. Instants are null where nothing is launched. */
export interface LaunchPlan {
  readonly firstLaunchAt: Instant | null
  readonly lastLaunchAt: Instant | null
  /** hours without launches are left out */
  readonly perHour: readonly HourOfLaunches[]
  /** launches after the last of the hours that are told */
  readonly launchesLater: number
  readonly windows: readonly Occurrence[]
  /** operations that the stop cancels before their launch */
  readonly notLaunched: number
  /** operations launched so late that the stop may cancel them before their time limits are over */
  readonly mayNotEnd: number
  /** when the last operation is over, where every one uses up its time and none is retried */
  readonly endsAt: Instant
}

/** Hours told one by one; more than a month of them. */
const HOURS_MAX = 800
/** Windows told. */
const WINDOWS_MAX = 50

/** The plan of a layout: counted from the very instants at which the dispatcher reaches the places. */
export function planLaunches({ launching, stopAt }: Layout, { ackTimeoutMs, timeoutMs }: TimeLimits): LaunchPlan {
  const longestMs = ackTimeoutMs + timeoutMs
  const launched = stopAt === null ? launching.places : placesBefore(launching, stopAt)
  const firstLaunchAt = launched === 0 ? null : placeReachedAt(launching, 0)
  const lastLaunchAt = launched === 0 ? null : placeReachedAt(launching, launched - 1)
  const perHour: HourOfLaunches[] = []
  let told = 0
  while (told < launched && perHour.length < HOURS_MAX) {
    const at = Math.floor(placeReachedAt(launching, told) / hourMs) * hourMs
    const until = Math.min(launched, placesBefore(launching, at + hourMs))
    perHour.push({ at, launches: until - told })
    told = until
  }
  const ended = stopAt === null ? launched : Math.min(launched, placesBefore(launching, stopAt - longestMs + 1))
  const drainedAt = (lastLaunchAt ?? launching.launchAt) + (launched === 0 ? 0 : longestMs)
  // What is never launched stays open until the stop.
  const open = launched < launching.places
  return {
    firstLaunchAt,
    lastLaunchAt,
    perHour,
    launchesLater: launched - told,
    windows: windowsUsed(launching, lastLaunchAt),
    notLaunched: launching.places - launched,
    mayNotEnd: launched - ended,
    endsAt: stopAt === null ? drainedAt : open ? stopAt : Math.min(drainedAt, stopAt),
  }
}

/** How many places are reached before an instant. */
function placesBefore(launching: Launching, at: Instant): number {
  let low = 0
  let high = launching.places
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (placeReachedAt(launching, middle) < at) low = middle + 1
    else high = middle
  }
  return low
}

/** The first windows in which something is launched; none for a job without a window. */
function windowsUsed({ launchAt, window }: Launching, lastLaunchAt: Instant | null): Occurrence[] {
  if (window === undefined || lastLaunchAt === null) return []
  const used: Occurrence[] = []
  for (let from = launchAt; from <= lastLaunchAt && used.length < WINDOWS_MAX; ) {
    // A window is at most a week long where it closes at all; what never closes is told until its last launch.
    const [next] = occurrences(window, from, Math.max(lastLaunchAt + 1, from) + 8 * 24 * hourMs)
    if (!next || next.opensAt > lastLaunchAt) break
    used.push(next)
    from = next.closesAt
  }
  return used
}

/** A group of a scattering's strategy: entities with one value of its field, null where they have none. */
export interface Group {
  readonly value: string | null
  readonly operations: number
}

/** When a group is launched, and how fast. */
export interface GroupPlan extends Group {
  readonly firstLaunchAt: Instant
  readonly lastLaunchAt: Instant
  /** operations per second between its first and its last launch; null where they fall together */
  readonly rate: number | null
}

/**
 * The plan of each group, in the order given, which must be the ranking's: by value, those without one last. The rank of a score
 * over all groups is counted group by group; where scores of several groups are equal, the places of these may change among them.
 */
export function planGroups(
  { launching }: Layout,
  groups: readonly Group[],
  { factor }: NonNullable<Scattering['strategy']>,
): GroupPlan[] {
  let before = 0
  const lines = groups.map(({ operations }) => {
    const line = {
      operations,
      at: (100 - factor) * (before / launching.places) + (factor * 0.5) / operations,
      step: (100 - factor) / launching.places + factor / operations,
    }
    before += operations
    return line
  })
  const rank = (score: number) =>
    lines.reduce((sum, { at, step, operations }) => {
      const below = Math.ceil((score - at) / step - 1e-9)
      return sum + Math.min(operations, Math.max(0, below))
    }, 0)
  return groups.map((group, index) => {
    const { at, step, operations } = lines[index]!
    const firstLaunchAt = placeReachedAt(launching, Math.min(rank(at), launching.places - 1))
    const lastLaunchAt = placeReachedAt(launching, Math.min(rank(at + step * (operations - 1)), launching.places - 1))
    const spanMs = lastLaunchAt - firstLaunchAt
    return { ...group, firstLaunchAt, lastLaunchAt, rate: spanMs > 0 ? ((operations - 1) * 1000) / spanMs : null }
  })
}
