/**
 * Chance from a seed: the same keys give the same numbers on every machine and in every run. Not for secrets.
 */

/** A source of numbers in [0, 1), decided by its keys alone: two sources of the same keys give the same numbers in the same order. */
export function randomOf(...keys: readonly (string | number)[]): () => number {
  let state = hashOf(keys.join('\u0001'))
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
