/**
 * How far behind processes of a run are: what the relays and the devices are late by is not the service's doing. It measures how late
 * a timer of this process comes, and collects what was measured.
 */

/** A timer that came late. */
export interface Late {
  readonly at: number
  readonly byMs: number
}

export interface Lag {
  /** Milliseconds by which timers came late, in all, between two instants. */
  between(fromMs: number, toMs: number): number
}

const EVERY_MS = 50
/** Less than this is the grain of timers. */
const LATE_MS = 20

/** Tells of every timer of this process that comes late. Answers how to stop. */
export function watchLag(onLate: (late: Late) => void): () => void {
  let dueAt = Date.now() + EVERY_MS
  const timer = setInterval(() => {
    const now = Date.now()
    if (now - dueAt > LATE_MS) onLate({ at: now, byMs: now - dueAt })
    dueAt = now + EVERY_MS
  }, EVERY_MS)
  return () => clearInterval(timer)
}

/** What a process was late by, from what it tells. */
export function collectLag(): Lag & { add(late: Late): void } {
  const lates: Late[] = []
  return {
    add: late => void lates.push(late),
    between: (fromMs, toMs) =>
      lates.reduce((sum, { at, byMs }) => (at > fromMs && at - byMs < toMs ? sum + byMs : sum), 0),
  }
}
