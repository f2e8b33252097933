/**
 * How far the clocks of a time zone stand from UTC, as stretches of time with one offset each. It answers for zones
 * only, never for dates, and it never asks what time it is.
 */
import { Temporal } from 'temporal-polyfill'
import type { Instant } from './instants.ts'

/** A stretch from `from` (included) to `to` (excluded) during which local time = UTC + `offsetMs`. */
export type Stretch = { readonly from: Instant; readonly to: Instant; readonly offsetMs: number }

/** Before and after these years a zone keeps the offset it has at their edge, so that every search ends. */
const rulesFrom = Date.UTC(1970, 0, 1)
const rulesUntil = Date.UTC(2200, 0, 1)

const utc: Stretch = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY, offsetMs: 0 }

/** Stretches found so far, by zone: a zone's rules cost some hundred microseconds to look up and never change. */
const found = new Map<string, Stretch[]>()

/** The zone's own spelling of an IANA name given in any case, or undefined when there is no such zone. */
export function findZone(name: string): string | undefined {
  if (name.length > 64 || !/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return undefined
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId
  } catch {
    return undefined
  }
}

/** The stretch in which `at` lies; `zone` is an answer of `findZone`, or null for UTC. */
export function stretchAt(zone: string | null, at: Instant): Stretch {
  if (zone === null) return utc
  const stretches = found.get(zone) ?? []
  const known = stretches.find(({ from, to }) => from <= at && at < to)
  if (known !== undefined) return known
  const stretch = lookUp(zone, at)
  found.set(zone, [...stretches, stretch])
  return stretch
}

function lookUp(zone: string, at: Instant): Stretch {
  const ruled = Math.min(Math.max(at, rulesFrom), rulesUntil - 1)
  const local = Temporal.Instant.fromEpochMilliseconds(ruled).toZonedDateTimeISO(zone)
  // "previous" is strictly before; a millisecond on, it includes a change at this very instant.
  const from = local.add({ milliseconds: 1 }).getTimeZoneTransition('previous')?.epochMilliseconds
  const to = local.getTimeZoneTransition('next')?.epochMilliseconds
  return {
    from: from === undefined || from < rulesFrom ? Number.NEGATIVE_INFINITY : from,
    to: to === undefined || to >= rulesUntil ? Number.POSITIVE_INFINITY : to,
    offsetMs: local.offsetNanoseconds / 1e6,
  }
}
