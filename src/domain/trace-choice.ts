/** Which operations of a job its trace shows: of a large job some, the same ones wherever something is seen of them. */

/** Odd, and far from any pattern in numbers: the golden ratio in 64 bits. */
const SCATTER = 0x9e3779b97f4a7c15n
const SHARES = 2 ** 32

/** Whether an entity's operation is among the about `most` that are shown of `operations`. */
export function isTraced(entity: bigint, operations: number, most: number): boolean {
  if (operations <= most) return true
  const share = Number(BigInt.asUintN(64, entity * SCATTER) >> 32n)
  return share * operations < most * SHARES
}
