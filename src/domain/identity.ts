/**
 * The numbers by which things are known and the public ids made of them. Refuses to know what the numbered things are.
 */

/** An operation is one job on one entity: the primary key of every hot table. */
export interface OperationKey {
  readonly job: bigint
  readonly partition: number
  readonly entity: bigint
}

/** Number of values that `partition` takes. Never changed once data exists. */
export const PARTITIONS = 256

const NUMBER_EPOCH_MS = Date.UTC(2020, 0, 1)
const SEQUENCE_BITS = 21n
const SEQUENCE_IN_SALT = 2047n

/** The first number that belongs to an instant (epoch ms). Numbers are time-ordered, so a month is a range of them. */
export function firstNumberAt(instant: number): bigint {
  return BigInt(Math.floor(instant) - NUMBER_EPOCH_MS) << SEQUENCE_BITS
}

/**
 * A source of 64-bit, time-ordered, ascending numbers for jobs, tasks and entities. `salt` (0 to 1023) keeps apart two
 * processes that number things in the same millisecond: no two that live may have the same.
 */
export function numberSource(now: () => number, salt: number): () => bigint {
  let last = 0n
  return () => {
    const first = firstNumberAt(now()) + (BigInt(salt & 1023) << 11n)
    const exhausted = (last & SEQUENCE_IN_SALT) === SEQUENCE_IN_SALT
    const following = exhausted ? last - SEQUENCE_IN_SALT + (1n << SEQUENCE_BITS) : last + 1n
    last = first > last ? first : following
    return last
  }
}

/** Public id of a job: 16 hexadecimal digits. */
export function jobId(job: bigint): string {
  return job.toString(16).padStart(16, '0')
}

/** The job number in a public id, or undefined where the text is no job id. */
export function parseJobId(id: string): bigint | undefined {
  return /^[0-7][0-9a-f]{15}$/.test(id) ? BigInt(`0x${id}`) : undefined
}

/** Public id of an operation: its three numbers in hexadecimal, 36 characters. */
export function operationId(key: OperationKey): string {
  return `${jobId(key.job)}-${key.partition.toString(16).padStart(2, '0')}-${key.entity.toString(16).padStart(16, '0')}`
}

/** The operation key in a public id, or undefined where the text is no operation id. */
export function parseOperationId(id: string): OperationKey | undefined {
  const parts = /^([0-7][0-9a-f]{15})-([0-9a-f]{2})-([0-7][0-9a-f]{15})$/.exec(id)
  if (!parts) return undefined
  return { job: BigInt(`0x${parts[1]}`), partition: Number.parseInt(parts[2]!, 16), entity: BigInt(`0x${parts[3]}`) }
}

/** The partition of an entity: FNV-1a over organization number and identifier, folded to 8 bits. Never changes. */
export function partitionOf(organization: number, identifier: string): number {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(`${organization}/${identifier}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  }
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & (PARTITIONS - 1)
}
