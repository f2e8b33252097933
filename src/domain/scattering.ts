/**
 * Scattering: how a job's operations are spread over the time it has, and in which order they are launched. All of it
 * follows from the job, the entity numbers and the instant asked about, so any node can say at any time how far a job's
 * places have been reached. It launches nothing and remembers nothing.
 */
import { dayMs, type Instant } from './instants.ts'
import { type Parsed, type Problem, parsed } from './problems.ts'
import { isAbsent, readMembers, readWhole, readWord } from './reading.ts'
import { advance, nextClosing, nextOpening, openTimeBetween, type Window } from './window.ts'

/** What operations can be grouped by: the only field that the interface names. */
const strategyFields = ['subscription.collected.cellInfo'] as const

/**
 * Scattering as read, with defaults filled in. `maxSpread` and `factor` are percentages, `warningMaxRate` operations per
 * second; `source` is the form in which it is read back.
 */
export type Scattering = {
  readonly maxSpread: number
  readonly strategy: { readonly field: (typeof strategyFields)[number]; readonly factor: number } | null
  readonly warningMaxRate: number | null
  readonly source: {
    readonly maxSpread: number
    readonly strategy?: { readonly field: string; readonly factor: number; readonly warningMaxRate?: number }
    readonly warningMaxRate?: number
  }
}

/** A warning for `report.warnings`: operations per second, as they will be and at most; null stands for "unlimited". */
export type RateWarning = {
  readonly code: 'rate-above-maximum'
  readonly rate: number | null
  readonly maximum: number
}

const percentage = { min: 0, max: 100 }

/** Nothing that a window calls one occurrence is longer: an entry lasts at most 24 hours. */
const longestOccurrenceMs = dayMs

/** Reads the `scattering` block; `warningMaxRate` may stand in it or in its strategy. Serves: Schedule (job). */
export function parseScattering(json: unknown, path = 'scattering'): Parsed<Scattering> {
  const problems: Problem[] = []
  const members = readMembers(json, path, ['maxSpread', 'strategy', 'warningMaxRate'], problems)
  if (members === undefined) return parsed<Scattering>(undefined, problems)
  const maxSpread = isAbsent(members.maxSpread)
    ? 0
    : readWhole(members.maxSpread, `${path}.maxSpread`, percentage, problems)
  const strategy = isAbsent(members.strategy) ? null : readStrategy(members.strategy, `${path}.strategy`, problems)
  const direct = readRate(members.warningMaxRate, `${path}.warningMaxRate`, problems)
  const inStrategy = strategy?.warningMaxRate
  if (direct !== undefined && inStrategy !== undefined && direct !== inStrategy) {
    problems.push({
      path: `${path}.warningMaxRate`,
      message: `must not differ from ${path}.strategy.warningMaxRate`,
      kind: 'invalid',
    })
  }
  if (problems.length > 0 || maxSpread === undefined) return parsed<Scattering>(undefined, problems)
  return parsed(
    {
      maxSpread,
      strategy: strategy && { field: strategy.field, factor: strategy.factor },
      warningMaxRate: inStrategy ?? direct ?? null,
      source: {
        maxSpread,
        ...(strategy === null ? {} : { strategy }),
        ...(direct === undefined ? {} : { warningMaxRate: direct }),
      },
    },
    problems,
  )
}

function readStrategy(json: unknown, path: string, problems: Problem[]) {
  const members = readMembers(json, path, ['field', 'factor', 'warningMaxRate'], problems)
  if (members === undefined) return null
  const field = readWord(members.field, `${path}.field`, strategyFields, problems)
  const factor = isAbsent(members.factor) ? 0 : readWhole(members.factor, `${path}.factor`, percentage, problems)
  const warningMaxRate = readRate(members.warningMaxRate, `${path}.warningMaxRate`, problems)
  if (field === undefined || factor === undefined) return null
  return { field, factor, ...(warningMaxRate === undefined ? {} : { warningMaxRate }) }
}

function readRate(json: unknown, path: string, problems: Problem[]): number | undefined {
  if (isAbsent(json)) return undefined
  const value = typeof json === 'string' && /^\d{1,9}(\.\d{1,9})?$/.test(json) ? Number(json) : json
  if (typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER) return value
  problems.push({ path, message: 'must be a number above 0, in operations per second', kind: 'invalid' })
  return undefined
}

/**
 * The time that a job has for its operations, in milliseconds: all window time between launch and stop. Without a
 * stop: what the first window occurrence leaves from the launch on, at most 24 hours, also of a window that never
 * closes. With neither: 0, as fast as possible.
 */
export function effectiveTime(window: Window | undefined, launchAt: Instant, stopAt: Instant | null): number {
  if (stopAt !== null) return openTimeBetween(window, launchAt, stopAt)
  if (window === undefined) return 0
  const opensAt = nextOpening(window, launchAt)
  const closesAt = nextClosing(window, opensAt)
  return closesAt === null ? longestOccurrenceMs : Math.min(closesAt - opensAt, longestOccurrenceMs)
}

/**
 * What is kept free at the end of the effective time, so that the last operations can still finish: the longest an
 * operation may take, at most half of the effective time.
 */
export function drainReserve(effectiveMs: number, ackTimeoutMs: number, timeoutMs: number): number {
  return Math.min(ackTimeoutMs + timeoutMs, effectiveMs / 2)
}

/** The open time over which launches are spread, in whole milliseconds. */
export function spread(effectiveMs: number, reserveMs: number, maxSpread: number): number {
  return Math.floor(((effectiveMs - reserveMs) * maxSpread) / 100)
}

/** The open time from the launch to place `k` of `count`, in whole milliseconds, rounded up. Never decreases with `k`. */
function offsetOf(k: number, count: number, spreadMs: number): number {
  return Math.ceil(spreadMs * (k / count))
}

/** When place `k` of `count` (from 0) is due: the first open instant with spread × k / count of open time behind it. */
export function dueAt(
  k: number,
  count: number,
  spreadMs: number,
  launchAt: Instant,
  window: Window | undefined,
): Instant {
  return nextOpening(window, advance(window, launchAt, offsetOf(k, count, spreadMs)))
}

/**
 * How many of `count` places have come by `now`: places 0 to that number, excluded, are due, provided that the window is
 * open, which the caller asks. 0 before the launch; with no spread, all of them. The inverse of `dueAt`.
 */
export function placesReached(
  spreadMs: number,
  count: number,
  launchAt: Instant,
  window: Window | undefined,
  now: Instant,
): number {
  if (now < launchAt) return 0
  if (spreadMs <= 0) return count
  const passedMs = openTimeBetween(window, launchAt, now)
  if (passedMs >= spreadMs) return count
  // The quotient may lie one off what `offsetOf` rounds to; that function is the judge.
  let reached = Math.min(count, Math.floor((passedMs / spreadMs) * count) + 1)
  while (reached > 0 && offsetOf(reached - 1, count, spreadMs) > passedMs) reached -= 1
  while (reached < count && offsetOf(reached, count, spreadMs) <= passedMs) reached += 1
  return reached
}

/** When the next place after those reached at `now` is due; null when none is left. */
export function nextPlaceAt(
  spreadMs: number,
  count: number,
  launchAt: Instant,
  window: Window | undefined,
  now: Instant,
): Instant | null {
  const reached = placesReached(spreadMs, count, launchAt, window, now)
  return reached >= count ? null : dueAt(reached, count, spreadMs, launchAt, window)
}

/**
 * What is left of the spread at `now`, as open time: over this, counted from the resume, `placesReached` spreads anew
 * the places that became overdue in a pause or an outage.
 */
export function spreadLeft(spreadMs: number, launchAt: Instant, window: Window | undefined, now: Instant): number {
  return Math.max(0, spreadMs - openTimeBetween(window, launchAt, now))
}

/** The warning owed when `count` operations over the spread exceed the rate that the job calls its maximum. */
export function scatteringWarnings(count: number, spreadMs: number, warningMaxRate: number | null): RateWarning[] {
  if (warningMaxRate === null || count === 0) return []
  const rate = spreadMs > 0 ? (count * 1000) / spreadMs : null
  if (rate !== null && rate <= warningMaxRate) return []
  return [{ code: 'rate-above-maximum', rate, maximum: warningMaxRate }]
}
