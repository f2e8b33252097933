/**
 * Whether something is done by what it is taken for, in one go and undone where that is not so, or carefully. Refuses to know what is
 * done.
 */

/** Where it was wrong once it will be again soon: others write to the same, and what was decided was decided in vain. */
const CAREFUL_FOR = 16

export interface Trust {
  holds(): boolean
  /** Told once it was wrong: the next times are careful. */
  lose(): void
  /** Told of each careful time. */
  spend(): void
}

export function createTrust(carefulFor = CAREFUL_FOR): Trust {
  let careful = 0
  return {
    holds: () => careful === 0,
    lose() {
      careful = carefulFor
    },
    spend() {
      careful -= 1
    },
  }
}
