/** The window of a job in words. Pure. */
import { clockOf, daysWords } from '../../clock-words.ts'

interface Entry {
  readonly days?: readonly string[]
  readonly daily?: { readonly start: string; readonly stop: string }
  readonly start?: string
  readonly stop?: string
}

/** Mon–Fri 22:00–06:00 UTC. Where the window has a zone of its own its times are local to it, whatever their offset says. */
export function windowWords(window: unknown): string {
  const { weekly, timezone, ...flat } = (window ?? {}) as { weekly?: readonly Entry[]; timezone?: string } & Entry
  const entries = (weekly ?? [flat]).map(({ days, daily, start, stop }) => {
    const [from, to] = [clockOf(daily?.start ?? start ?? ''), clockOf(daily?.stop ?? stop ?? '')]
    // A start and a stop that are written for different clocks are each told with their own.
    if (timezone === undefined && from.zone !== to.zone) {
      return { words: `${daysWords(days)} ${from.time} ${from.zone} – ${to.time} ${to.zone}`, zone: '' }
    }
    const hours = from.time === to.time ? `from ${from.time} for 24 h` : `${from.time}–${to.time}`
    return { words: `${daysWords(days)} ${hours}`, zone: ` ${timezone ?? from.zone}` }
  })
  const zones = new Set(entries.map(({ zone }) => zone))
  // One zone is said once, behind all of them.
  if (zones.size === 1) return `${entries.map(({ words }) => words).join('; ')}${[...zones].join('')}`
  return entries.map(({ words, zone }) => `${words}${zone}`).join('; ')
}
