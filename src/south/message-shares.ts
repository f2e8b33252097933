/**
 * How many messages of one device are in hand at once, so that a device which sends without end fills no queue that others stand in.
 * Refuses to know messages.
 */
import { DroverError } from '../domain/errors.ts'

/** Messages of one device in hand at once: what a gateway sends that has saved them up, and little beside what all may have waiting. */
export const MESSAGES_PER_DEVICE = 100

export interface MessageShares {
  /** Answers what to call, once or more often, when the message is done with; undefined where the device has too many in hand. */
  begin(device: bigint): (() => void) | undefined
  /** what the device is told then: in a while, and not at the same time as others */
  refusal(): DroverError
}

/** Makes the shares of one door. */
export function messageShares(max = MESSAGES_PER_DEVICE): MessageShares {
  const inHand = new Map<bigint, number>()
  return {
    begin(device) {
      const before = inHand.get(device) ?? 0
      if (before >= max) return undefined
      inHand.set(device, before + 1)
      let done = false
      return () => {
        if (done) return
        done = true
        const now = inHand.get(device)! - 1
        if (now === 0) inHand.delete(device)
        else inHand.set(device, now)
      }
    },
    refusal: () => new DroverError('tooMany'),
  }
}
