/**
 * How far behind this machine is: what the relays and the devices of a run are late by is not the service's doing. It measures how late
 * a timer of this process comes.
 */

export interface Lag {
  /** Milliseconds by which timers came late, in all, between two instants. */
  between(fromMs: number, toMs: number): number
  stop(): void
}

const EVERY_MS = 50
/** Less than this is the grain of timers. */
const LATE_MS = 20

export function measureLag(): Lag {
  const late: { at: number; byMs: number }[] = []
  let dueAt = Date.now() + EVERY_MS
  const timer = setInterval(() => {
    const now = Date.now()
    if (now - dueAt > LATE_MS) late.push({ at: now, byMs: now - dueAt })
    dueAt = now + EVERY_MS
  }, EVERY_MS)
  return {
    between: (fromMs, toMs) =>
      late.reduce((sum, { at, byMs }) => (at > fromMs && at - byMs < toMs ? sum + byMs : sum), 0),
    stop: () => clearInterval(timer),
  }
}
