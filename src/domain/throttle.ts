/**
 * How often something may be tried: a few times at once, then at a steady pace, each key for itself, in bounded memory. It knows
 * neither what is tried nor what time it is.
 */

export interface ThrottleRule {
  /** tries that a rested key has at once */
  readonly burst: number
  /** after these, one more comes back each time this passes */
  readonly everyMs: number
  /** keys remembered; beyond it the one untouched for longest is forgotten */
  readonly keysMax: number
}

export interface Throttle {
  /** Takes one try of a key; answers 0, or the milliseconds until there is one. */
  take(key: string, now: number): number
  /** Gives one try back: it was no failure. */
  giveBack(key: string): void
}

/** A key is known by the instant at which it will be rested; the further off, the more was tried. */
export function createThrottle({ burst, everyMs, keysMax }: ThrottleRule): Throttle {
  const restedAt = new Map<string, number>()

  function remember(key: string, at: number): void {
    restedAt.delete(key)
    restedAt.set(key, at)
    if (restedAt.size <= keysMax) return
    const [oldest] = restedAt.keys()
    if (oldest !== undefined) restedAt.delete(oldest)
  }

  return {
    take(key, now) {
      const next = Math.max(restedAt.get(key) ?? now, now) + everyMs
      const waitMs = next - now - burst * everyMs
      if (waitMs > 0) return waitMs
      remember(key, next)
      return 0
    },
    giveBack(key) {
      const at = restedAt.get(key)
      if (at !== undefined) remember(key, at - everyMs)
    },
  }
}
