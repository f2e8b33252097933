/** Reports of what a target asked for and a job refused. Refuses to judge entities. Serves: Target. */
import type { RefusedIds, TargetReport } from './job.ts'

/** Most refused ids of a kind that are listed; beyond, the first of them and their count. */
export const REFUSED_IDS_MAX = 1_000

/** Refusals by kind: ids, and how many there are in all where they are not all listed. */
export type Refusals = {
  readonly [Kind in keyof TargetReport]?: { readonly ids: readonly string[]; readonly count: number }
}

const KINDS = ['notProvisioned', 'notAllowed', 'duplicated'] as const
/** What keeps an entity out of a job; one that is duplicated is in it. */
const KEEPING_OUT = ['notProvisioned', 'notAllowed'] as const

/** A report with further refusals, each id once in its kind; a kind without any is left out. */
export function addRefusals(report: TargetReport, refusals: Refusals): TargetReport {
  const grown: { -readonly [Kind in keyof TargetReport]: TargetReport[Kind] } = { ...report }
  for (const kind of KINDS) {
    const more = refusals[kind]
    if (more && more.count > 0) grown[kind] = join(report[kind], more)
  }
  return grown
}

/** A report without what it says of ids that were judged anew or taken out, so that none of them counts as kept out any more. */
export function withdrawRefusals(report: TargetReport, ids: ReadonlySet<string>): TargetReport {
  const left: { -readonly [Kind in keyof TargetReport]: TargetReport[Kind] } = { ...report }
  for (const kind of KEEPING_OUT) {
    const { count, first } = opened(report[kind])
    const kept = first.filter(id => !ids.has(id))
    if (kept.length === first.length) continue
    const still = count - (first.length - kept.length)
    if (still === 0) delete left[kind]
    else left[kind] = closed(still, kept)
  }
  return left
}

function join(
  known: RefusedIds | undefined,
  more: { readonly ids: readonly string[]; readonly count: number },
): RefusedIds {
  const before = opened(known)
  const ids = new Set([...before.first, ...more.ids])
  const repeated = before.first.length + more.ids.length - ids.size
  return closed(before.count + more.count - repeated, [...ids].slice(0, REFUSED_IDS_MAX))
}

interface CountedIds {
  readonly count: number
  readonly first: readonly string[]
}

function opened(known: RefusedIds | undefined): CountedIds {
  if (known === undefined) return { count: 0, first: [] }
  return 'first' in known ? known : { count: known.length, first: known }
}

function closed(count: number, first: readonly string[]): RefusedIds {
  return count > first.length ? { count, first } : first
}
