/**
 * The order in which a job's operations are launched: the definition, small and pure, to which the one ranking
 * statement of the store is held by a test. It spreads groups over the whole job, and says nothing of time.
 */

/** 2^31 − 1, a prime: with it a factor below 2^17 stays within 64 bits in PostgreSQL and within 2^53 here. */
export const hashPrime = 2_147_483_647
export const entityFactor = 48_271
export const jobFactor = 69_621
/** Odd multipliers below 2^31, so that 32 bits times one of them stay within a signed 64-bit integer. */
export const firstMixer = 0x21f0aaad
export const secondMixer = 0x31848bab

/**
 * A number below 2^32 from a job number and an entity number, neither negative, whose order is as good as random.
 * PostgreSQL computes the same value with plain `bigint` arithmetic, which is why it is made of remainders, shifts and
 * multiplications that cannot overflow. Its low bits are the worse ones; ranking looks at the high ones.
 */
export function scatterHash(job: bigint, entity: bigint): number {
  const prime = BigInt(hashPrime)
  let hash = (Number(entity % prime) * entityFactor + Number(job % prime) * jobFactor) % hashPrime
  hash = Math.imul(hash ^ (hash >>> 16), firstMixer) >>> 0
  return Math.imul(hash ^ (hash >>> 15), secondMixer) >>> 0
}

/** An operation to be ranked: its entity, and the value by which it is grouped, null where it has none. */
export type Ranked = { readonly entity: bigint; readonly group: string | null }

/**
 * The place of each entity, from 0 without gaps. Without a factor (no strategy) entities stand in the order of their
 * hash. With one: c is the rank by group and hash, out of all; s the rank within the group plus a half, out of the group;
 * places follow (100 − factor) · c + factor · s. Entities without a group are one group, the last. Equal values stand
 * by hash, then by entity.
 */
export function rankPlaces(rows: readonly Ranked[], job: bigint, factor: number | null): Map<bigint, number> {
  const hashed = rows.map(row => ({ ...row, hash: scatterHash(job, row.entity), score: 0 })).sort(byHash)
  if (factor !== null) score(hashed, factor)
  const inOrder = factor === null ? hashed : hashed.sort((one, other) => one.score - other.score || byHash(one, other))
  return new Map(inOrder.map(({ entity }, place) => [entity, place]))
}

type Hashed = Ranked & { readonly hash: number; score: number }

/** Sets the score of every row; written so that each step rounds exactly as PostgreSQL's double precision does. */
function score(rows: readonly Hashed[], factor: number): void {
  const groups = Map.groupBy(rows, ({ group }) => group)
  let across = 0
  for (const group of [...groups.keys()].sort(byCodePoint)) {
    const members = groups.get(group)!
    for (const [within, row] of members.entries()) {
      const c = across / rows.length
      const s = (within + 0.5) / members.length
      row.score = (100 - factor) * c + factor * s
      across += 1
    }
  }
}

function byHash(one: Hashed, other: Hashed): number {
  return one.hash - other.hash || (one.entity < other.entity ? -1 : 1)
}

/** By code points, as PostgreSQL's collation "C" orders UTF-8; no value comes last. */
function byCodePoint(one: string | null, other: string | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  const [points, others] = [[...one], [...other]]
  const difference = points.findIndex((point, index) => point !== others[index])
  if (difference < 0) return points.length - others.length
  return (points[difference]?.codePointAt(0) ?? -1) - (others[difference]?.codePointAt(0) ?? -1)
}
