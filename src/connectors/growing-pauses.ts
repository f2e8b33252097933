/**
 * How long to wait before a connection is made again: longer after each failure, and never as long as everybody else waits. It knows no
 * connection and no clock.
 */

export interface PauseSettings {
  readonly firstPauseMs: number
  readonly longestPauseMs: number
  /** a connection that has held for so long was a good one: pauses begin anew */
  readonly steadyMs: number
  /** from 0 to 1, below 1 */
  readonly random: () => number
}

/**
 * Answers a function that gives the next pause, in ms, after a connection has ended that held for `heldMs`; 0 where none was made. It
 * lies between a half and the whole of what doubles each time.
 */
export function growingPauses({ firstPauseMs, longestPauseMs, steadyMs, random }: PauseSettings) {
  let wholeMs = firstPauseMs
  return (heldMs: number): number => {
    // That it was accepted says little: a broker may accept and drop, over and over.
    if (heldMs >= steadyMs) wholeMs = firstPauseMs
    const pauseMs = wholeMs * (0.5 + random() / 2)
    wholeMs = Math.min(wholeMs * 2, longestPauseMs)
    return pauseMs
  }
}
