/**
 * How free send slots are shared out: over organizations first, then over their jobs, and how a round goes over more jobs than are
 * looked at in one turn. Refuses to know what jobs do.
 */

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

/** How far a round has got in each organization: after which job it goes on, and whether it has been through all of them. */
export type Round = ReadonlyMap<number, { readonly after: bigint; readonly through: boolean }>

/** A job on a page, and how many of its organization stood in line for it, counted up to the page's size. */
export interface InLine extends Contender {
  readonly inLine: number
}

/**
 * Where a round stands after a page of at most `size` jobs, which holds of every organization its next ones; empty where it has ended, so
 * that a new one begins. An organization that it has been through begins anew beside those with more: it has its share of every turn.
 */
export function goRound(round: Round, page: readonly InLine[], size: number): Round {
  const isThrough = (organization: number) => round.get(organization)?.through === true
  if (page.length < size || page.every(({ organization }) => isThrough(organization))) return new Map()
  const next = new Map(round)
  for (const [organization, jobs] of Map.groupBy(page, each => each.organization)) {
    const isLast = jobs.length === jobs[0]!.inLine && jobs.length < size
    const after = isLast ? 0n : jobs.reduce((last, { job }) => (job > last ? job : last), 0n)
    next.set(organization, { after, through: isLast || isThrough(organization) })
  }
  return next
}
