/** Reports of what a target asked for and a job refused. Refuses to judge entities. Serves: Target. */
import type { RefusedIds, TargetReport } from './job.ts'

/** Most refused ids of a kind that are listed; beyond, the first of them and their count. */
export const REFUSED_IDS_MAX = 1_000

/** Refusals by kind: ids, and how many there are in all where they are not all listed. */
export type Refusals = {
  readonly [Kind in keyof TargetReport]?: { readonly ids: readonly string[]; readonly count: number }
}

/** A report with further refusals; a kind without any is left out. */
export function addRefusals(report: TargetReport, refusals: Refusals): TargetReport {
  const grown: { -readonly [Kind in keyof TargetReport]: TargetReport[Kind] } = { ...report }
  for (const kind of ['notProvisioned', 'notAllowed', 'duplicated'] as const) {
    const more = refusals[kind]
    if (more && more.count > 0) grown[kind] = join(report[kind], more)
  }
  return grown
}

function join(
  known: RefusedIds | undefined,
  more: { readonly ids: readonly string[]; readonly count: number },
): RefusedIds {
  const before =
    known === undefined ? { count: 0, first: [] } : 'first' in known ? known : { count: known.length, first: known }
  const count = before.count + more.count
  const first = [...before.first, ...more.ids].slice(0, REFUSED_IDS_MAX)
  return count > first.length ? { count, first } : first
}
