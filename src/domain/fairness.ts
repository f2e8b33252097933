/** How free send slots are shared out: over organizations first, then over their jobs. Refuses to know what jobs do. */

/** Somebody who wants slots. */
export interface Contender {
  readonly job: bigint
  readonly organization: number
}

/**
 * A quota for each contender, in the order given. Every organization gets the same, whatever the number of its jobs; what does not
 * divide goes to the first ones, so whoever asks goes round. Quotas sum to at most `slots`; with fewer slots than contenders, some
 * get none.
 */
export function shareSlots(slots: number, contenders: readonly Contender[]): number[] {
  const byOrganization = new Map<number, number[]>()
  contenders.forEach(({ organization }, index) => {
    const members = byOrganization.get(organization)
    if (members) members.push(index)
    else byOrganization.set(organization, [index])
  })
  const quotas = new Array<number>(contenders.length).fill(0)
  const groups = [...byOrganization.values()]
  groups.forEach((members, group) => {
    const ofGroup = portion(slots, groups.length, group)
    members.forEach((index, member) => {
      quotas[index] = portion(ofGroup, members.length, member)
    })
  })
  return quotas
}

function portion(slots: number, parts: number, index: number): number {
  return Math.floor(slots / parts) + (index < slots % parts ? 1 : 0)
}
