/**
 * How free send slots are shared out: over organizations first, then over their jobs, and how a round goes over more jobs than are
 * looked at in one turn. Refuses to know what jobs do.
 */

/** A job that stands for slots beside others. */
export interface Contender {
  readonly job: bigint
  readonly organization: number
}

/** Somebody who wants slots: what it was given before of those that are shared, and how many more it may have. */
export interface Taker {
  readonly given: number
  readonly most: number
}

/**
 * How many more slots each contender gets, in the order given. Every organization comes to the same, whatever the number of its jobs, and
 * every job of one to the same, as far as they may have so much; what one may not have goes to the others. What does not divide goes
 * round with the turn: with fewer slots than contenders, turns 0, 1, 2 … give to each organization, and within it to each job, in their
 * order. Serves: fairness among jobs.
 */
export function shareSlots(slots: number, contenders: readonly (Contender & Taker)[], turn: number): number[] {
  const quotas = new Array<number>(contenders.length).fill(0)
  const organizations = [...Map.groupBy(contenders.keys(), index => contenders[index]!.organization).values()]
  const ofOrganizations = levelled(
    slots,
    organizations.map(members => ({
      given: sum(members.map(index => contenders[index]!.given)),
      most: sum(members.map(index => contenders[index]!.most)),
    })),
    turn,
  )
  organizations.forEach((members, organization) => {
    const takers = members.map(index => contenders[index]!)
    const more = levelled(ofOrganizations[organization]!, takers, Math.floor(turn / organizations.length))
    members.forEach((index, member) => {
      quotas[index] = more[member]!
    })
  })
  return quotas
}

/** How many more each gets so that those with least come level with the others first; what is left over goes to some, from `first` on. */
function levelled(slots: number, takers: readonly Taker[], first: number): number[] {
  const upTo = (level: number) => takers.map(({ given, most }) => Math.min(most, Math.max(0, level - given)))
  let level = 0
  let tooHigh = slots + Math.max(0, ...takers.map(({ given }) => given)) + 1
  while (tooHigh - level > 1) {
    const middle = Math.floor((level + tooHigh) / 2)
    if (sum(upTo(middle)) <= slots) level = middle
    else tooHigh = middle
  }
  const more = upTo(level)
  const above = upTo(level + 1)
  const rising = more.flatMap((count, index) => (above[index]! > count ? [index] : []))
  const rest = Math.min(slots - sum(more), rising.length)
  for (let each = 0; each < rest; each += 1) more[rising[(first + each) % rising.length]!]! += 1
  return more
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
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
