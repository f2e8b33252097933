/** How free send slots are shared out: over organizations first, then over their jobs. Refuses to know what jobs do. */

/** Somebody who wants slots. */
export interface Contender {
  readonly job: bigint
  readonly organization: number
}

/**
 * A quota for each contender, in the order given. Every organization gets the same, whatever the number of its jobs, and every job
 * of one the same; quotas sum to `slots`. What does not divide goes round with the turn: with fewer slots than contenders, turns
 * 0, 1, 2 … give to each organization, and within it to each job, in their order. Serves: fairness among jobs.
 */
export function shareSlots(slots: number, contenders: readonly Contender[], turn: number): number[] {
  const byOrganization = new Map<number, number[]>()
  contenders.forEach(({ organization }, index) => {
    const members = byOrganization.get(organization)
    if (members) members.push(index)
    else byOrganization.set(organization, [index])
  })
  const quotas = new Array<number>(contenders.length).fill(0)
  const groups = [...byOrganization.values()]
  const round = Math.floor(turn / groups.length)
  groups.forEach((members, group) => {
    const ofGroup = portion(slots, groups.length, group, turn)
    members.forEach((index, member) => {
      quotas[index] = portion(ofGroup, members.length, member, round)
    })
  })
  return quotas
}

function portion(slots: number, parts: number, index: number, first: number): number {
  const place = (index - (first % parts) + parts) % parts
  return Math.floor(slots / parts) + (place < slots % parts ? 1 : 0)
}
