/**
 * What somebody must hear of a plan before it is carried out: that nothing of it would run, and why, and what of those chosen it leaves
 * out. The same for the console and the command line. Pure: it asks nobody.
 */
import type { PlanView } from './client.ts'

/** Why nothing of a plan runs: it has no device, or its stop comes before its first launch. */
export type NothingRuns = 'noDevice' | 'stopsFirst'

/** Why nothing runs; null where something does. */
export function whyNothingRuns({ target, launch }: Pick<PlanView, 'target' | 'launch'>): NothingRuns | null {
  if (target.total === 0) return 'noDevice'
  return launch.notLaunched === target.total ? 'stopsFirst' : null
}

/** What is said first of all where nothing runs. */
export const NOTHING_RUNS = 'Nothing would run.'
/** The same of a job that is not launched yet, which is planned as if it were. */
export const NOTHING_RUNS_ACTIVATED = 'Nothing would run if it were activated now.'

/** Why what a target names is refused. */
export const REFUSALS = {
  notProvisioned: 'not provisioned',
  notAllowed: 'not allowed',
  duplicated: 'named twice',
} as const

/** The sentence that follows it, in pieces: an instant is a piece of its own, since each shows it in a way of its own. */
export function nothingRunsWords<Shown>(
  { target, launch, scattering }: PlanView,
  instant: (at: string | null) => Shown,
): readonly (string | Shown)[] {
  if (target.total > 0) {
    const all = target.total === 1 ? 'the one operation' : `all ${counted(target.total)} operations`
    const why = scattering.effectiveMs === 0 ? ': the window does not open between the start and the stop' : ''
    return ['The stop, at ', instant(launch.stopDate), `, would cancel ${all} before the first launch${why}.`]
  }
  const refused = target.refusals.filter(each => each.count > 0)
  if (refused.length === 0) return ['The target finds no device that the operation applies to.']
  const told = refused.map(({ reason, count }) => `${counted(count)} ${REFUSALS[reason]}`)
  return [`Of what the target names, all is refused: ${told.join(', ')}.`]
}

/** That a plan finds fewer than were chosen; null where it finds them all. */
export function leftOutWords(chosen: number, found: number): string | null {
  if (found >= chosen) return null
  return `Left out of those chosen: ${counted(chosen - found)}, no longer there or nothing that the operation applies to.`
}

const counted = (value: number): string => value.toLocaleString('en')
