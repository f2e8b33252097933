/**
 * How far the places of a job have been reached, as ranges that may be claimed: a pure function of the job and now.
 * Refuses to know which places are still there. Serves: Scattering fields, Window rule.
 */
import { windowClosed } from './gates.ts'
import type { Instant } from './instants.ts'
import { dueAt, nextPlaceAt, placesReached } from './scattering.ts'
import { nextOpening, type Window } from './window.ts'

/** How a job launches. Spans in milliseconds of open window time. */
export interface Launching {
  readonly places: number
  readonly spreadMs: number
  readonly launchAt: Instant
  readonly window: Window | undefined
  /** what became overdue in a pause or an outage: places `from` to `places`, spread anew from `at` over `spreadMs` */
  readonly overdue: {
    readonly from: number
    readonly places: number
    readonly at: Instant
    readonly spreadMs: number
  } | null
}

/** Places `low` (included) to `reached` (excluded). */
export interface PlaceRange {
  readonly low: number
  readonly reached: number
}

/**
 * Retries, and requests that must be sent again, wait at the first place, unless there was no room for them there: it has been reached
 * since the launch, and is claimed ahead of everything that has not been launched yet.
 */
export const FIRST_PLACE = 0

/** The ranges reached at `now`, the first place's first; none while the window is closed or before the launch. */
export function reachedRanges(launching: Launching, now: Instant): PlaceRange[] {
  const { places, spreadMs, launchAt, window, overdue } = launching
  if (now < launchAt || windowClosed(window, now)) return []
  const reached = placesReached(spreadMs, places, launchAt, window, now)
  const ranges = [{ low: FIRST_PLACE, reached: FIRST_PLACE + 1 }]
  if (overdue) {
    const again = overdue.places - overdue.from
    const reachedAgain = overdue.from + placesReached(overdue.spreadMs, again, overdue.at, window, now)
    ranges.push({ low: FIRST_PLACE + 1, reached: Math.min(reachedAgain, overdue.places) })
  }
  ranges.push({ low: Math.max(FIRST_PLACE + 1, overdue?.places ?? 0), reached })
  return ranges.filter(range => range.low < range.reached)
}

/** When more places will be reached than at `now`: the next opening, or the next place of either lane; null when all are. */
export function nextReachAt(launching: Launching, now: Instant): Instant | null {
  const { places, spreadMs, launchAt, window, overdue } = launching
  if (now < launchAt) return nextOpening(window, launchAt)
  const closed = windowClosed(window, now)
  if (closed) return closed.liftsAt
  const lanes = [nextPlaceAt(spreadMs, places, launchAt, window, now)]
  if (overdue) lanes.push(nextPlaceAt(overdue.spreadMs, overdue.places - overdue.from, overdue.at, window, now))
  const due = lanes.filter(at => at !== null)
  return due.length === 0 ? null : Math.min(...due)
}

/** When a place is reached, whether past or to come: the instant from which `reachedRanges` has it while the window is open. */
export function placeReachedAt({ places, spreadMs, launchAt, window, overdue }: Launching, place: number): Instant {
  if (place === FIRST_PLACE) return nextOpening(window, launchAt)
  if (!overdue || place >= overdue.places) return dueAt(place, places, spreadMs, launchAt, window)
  const again = Math.max(0, place - overdue.from)
  return dueAt(again, overdue.places - overdue.from, overdue.spreadMs, overdue.at, window)
}
