/**
 * How often something may be tried: a few times at once, then at a steady pace, each key for itself. A key is known by the instant at
 * which it will be rested; the further off, the more was tried. Who keeps that instant is not its business.
 */

export interface ThrottleRule {
  /** tries that a rested key has at once */
  readonly burst: number
  /** after these, one more comes back each time this passes */
  readonly everyMs: number
}

/** The instant, epoch ms, at which a key will be rested that is tried now. */
export function restedAfterTry(rule: ThrottleRule, restedAt: number, now: number): number {
  return Math.max(restedAt, now) + rule.everyMs
}

/** 0 where a key may be tried now, else the milliseconds until it may. */
export function waitBeforeTry(rule: ThrottleRule, restedAt: number, now: number): number {
  return Math.max(0, restedAfterTry(rule, restedAt, now) - now - rule.burst * rule.everyMs)
}

/** The network of an address: of IPv6 its first 64 bits, since whoever has one address of them has them all. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.replace(/%.*$/, '').toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  const ending = tail ? tail.split(':') : []
  const between = tail === undefined ? 0 : Math.max(0, 8 - groups.length - ending.length)
  return [...groups, ...Array<string>(between).fill('0'), ...ending]
    .slice(0, 4)
    .map(group => group.replace(/^0+(?=.)/, ''))
    .join(':')
}
