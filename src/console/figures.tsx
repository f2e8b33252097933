/** Numbers, spans and instants as they are read: digits aligned, times in the viewer's zone with UTC on hover. It computes nothing else. */
import { type ReactNode, useSyncExternalStore } from 'react'

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** A count with its thousands apart. */
export const count = (value: number): string => whole.format(value)

/** A count in few digits, for axes. */
export const compact = (value: number): string => short.format(value)

/** A count and its noun: 1 device, 2 devices. */
export const counted = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`

/** A rate per second, as precise as it is small. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return '0'
  if (perSecond >= 100) return whole.format(perSecond)
  return perSecond >= 1 ? perSecond.toFixed(1) : perSecond.toPrecision(2)
}

/** A share of a whole, never 0 or 100 unless it is. */
export function percent(part: number, of: number): string {
  if (of === 0) return '–'
  const value = (part / of) * 100
  if (value > 0 && value < 0.1) return '<0.1 %'
  if (value < 100 && value > 99.9) return '>99.9 %'
  return `${value === 0 || value === 100 ? value : value.toFixed(1)} %`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A span in its two largest units. */
export function span(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  if (Math.abs(ms) < 1_000) return `${Math.round(ms)} ms`
  const parts: string[] = []
  let left = Math.abs(ms)
  for (const [unit, size] of UNITS) {
    const value = Math.floor(left / size)
    if (value > 0) parts.push(`${value} ${unit}`)
    left -= value * size
    if (parts.length === 2 || (parts.length === 1 && value === 0)) break
  }
  return parts.join(' ')
}

export const bytes = (value: number): string =>
  value < 1_000 ? `${value} B` : value < 1e6 ? `${(value / 1e3).toFixed(0)} kB` : `${(value / 1e6).toFixed(1)} MB`

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' })
const dayWithYear = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short', year: 'numeric' })
const dayKey = new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' })

/** The viewer's zone, by its name. */
export const viewerZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** A time of day in the viewer's zone. */
export const timeOfDay = (at: number): string => clock.format(at)

/** A day in the viewer's zone, the year where it is not this one. */
export function dayOf(at: number, now = Date.now()): string {
  return new Date(at).getFullYear() === new Date(now).getFullYear() ? day.format(at) : dayWithYear.format(at)
}

/** A day in the viewer's zone as `2026-03-02`. */
export const dayKeyOf = (at: number): string => dayKey.format(at)

/** An instant in the viewer's zone: the time of day, and the day where it is not today. */
function instantText(at: number, now = Date.now()): string {
  return dayKeyOf(at) === dayKeyOf(now) ? timeOfDay(at) : `${dayOf(at, now)} ${timeOfDay(at)}`
}

const ticks = new Set<() => void>()
let now = Date.now()
setInterval(() => {
  now = Date.now()
  for (const each of ticks) each()
}, 1_000)

/** The clock, once a second. */
export function useNow(): number {
  return useSyncExternalStore(
    listener => {
      ticks.add(listener)
      return () => ticks.delete(listener)
    },
    () => now,
  )
}

/** An instant as UTC, for those who hover. */
export const utcText = (at: number): string => new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC')

/** A whole instant, with UTC on hover; a dash where there is none. */
export function Instant({
  at,
  none = '–',
}: {
  readonly at: string | number | null | undefined
  readonly none?: ReactNode
}) {
  const value = typeof at === 'number' ? at : Date.parse(at || '')
  if (Number.isNaN(value)) return <span className="quiet">{none}</span>
  return (
    <time className="figure" dateTime={new Date(value).toISOString()} title={utcText(value)}>
      {instantText(value)}
    </time>
  )
}

/** How long ago, or in how long, kept up to date, with the instant on hover. */
export function Since({ at }: { readonly at: string | number }) {
  const present = useNow()
  const value = typeof at === 'number' ? at : Date.parse(at)
  if (Number.isNaN(value)) return <span className="quiet">–</span>
  const ago = present - value
  return (
    <time
      className="figure"
      dateTime={new Date(value).toISOString()}
      title={`${instantText(value)} here, ${utcText(value)}`}
    >
      {Math.abs(ago) < 1_000 ? 'now' : ago > 0 ? `${span(ago)} ago` : `in ${span(-ago)}`}
    </time>
  )
}
