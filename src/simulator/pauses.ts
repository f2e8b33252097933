/**
 * Every wait of a fleet in one place, so that all of them can be ended at once. Nothing in the simulator waits elsewhere.
 */

/** The waits of one fleet. */
export interface Pauses {
  /** Resolves with true after so many milliseconds, or with false as soon as the fleet stops. */
  pause(ms: number): Promise<boolean>
  /** Ends every wait, those to come included. */
  stop(): void
  readonly stopped: boolean
}

/** Begins with no wait and not stopped. */
export function createPauses(): Pauses {
  const waiting = new Map<NodeJS.Timeout, (over: boolean) => void>()
  let stopped = false
  return {
    get stopped() {
      return stopped
    },
    pause(ms) {
      if (stopped) return Promise.resolve(false)
      return new Promise(resolve => {
        const timer = setTimeout(() => {
          waiting.delete(timer)
          resolve(true)
        }, ms)
        waiting.set(timer, resolve)
      })
    },
    stop() {
      stopped = true
      for (const [timer, resolve] of waiting) {
        clearTimeout(timer)
        resolve(false)
      }
      waiting.clear()
    },
  }
}
