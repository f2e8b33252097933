/**
 * Which node looks after which partition: each goes to the living node that it hashes highest with, so that nobody has to agree on
 * it, and a node that comes or goes moves no partition but its own. Refuses to know who lives.
 */
import { PARTITIONS } from './identity.ts'
import { scatterHash } from './scattering-rank.ts'

/** The partitions of a node among the living ones, itself included whether or not it is named. */
export function partitionsOf(node: number, living: Iterable<number>): number[] {
  const others = [...living].filter(each => each !== node)
  const weight = (each: number, partition: number) => scatterHash(BigInt(each), BigInt(partition))
  const isOwn = (partition: number) => {
    const own = weight(node, partition)
    return others.every(other => {
      const theirs = weight(other, partition)
      return own > theirs || (own === theirs && node > other)
    })
  }
  return Array.from({ length: PARTITIONS }, (_, partition) => partition).filter(isOwn)
}
