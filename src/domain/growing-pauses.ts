/**
 * How long to wait before something is tried again that failed: longer after each failure, up to a bound. It knows neither what is tried
 * nor a clock; chance is an argument.
 */

export interface PauseBounds {
  readonly firstPauseMs: number
  readonly longestPauseMs: number
}

/** The pause, in ms, after a failure that so many came before: each is twice the one before it, up to the longest. */
export function pauseAfter(failuresBefore: number, { firstPauseMs, longestPauseMs }: PauseBounds): number {
  return Math.min(firstPauseMs * 2 ** failuresBefore, longestPauseMs)
}

export interface PauseSettings extends PauseBounds {
  /** a connection that has held for so long was a good one: pauses begin anew */
  readonly steadyMs: number
  /** from 0 to 1, below 1 */
  readonly random: () => number
}

/**
 * Answers a function that gives the next pause, in ms, after a connection has ended that held for `heldMs`; 0 where none was made. It
 * lies between a half and the whole of what doubles each time: never as long as everybody else waits.
 */
export function growingPauses({ steadyMs, random, ...bounds }: PauseSettings) {
  let failures = 0
  return (heldMs: number): number => {
    // That it was accepted says little: a broker may accept and drop, over and over.
    if (heldMs >= steadyMs) failures = 0
    return pauseAfter(failures++, bounds) * (0.5 + random() / 2)
  }
}
