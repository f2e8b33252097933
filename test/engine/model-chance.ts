/** Chance for the model test that depends on what happens, not on when: the same whatever the order in which two processes come to it. */

/** Something between 0 and 1, always the same for the same words. */
export type Chance = (...about: readonly (string | number)[]) => number

export function createChance(seed: number): Chance {
  return (...about) => {
    let hash = seed ^ 0x9e3779b9
    for (const letter of about.join('/')) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x85ebca6b) >>> 0
    hash ^= hash >>> 15
    return (Math.imul(hash, 0xc2b2ae35) >>> 0) / 2 ** 32
  }
}
