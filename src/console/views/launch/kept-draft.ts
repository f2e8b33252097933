/**
 * Keeps what is about to be launched while the page is loaded anew, for this tab and whoever is signed in. It keeps no more than a page of
 * the browser can hold, and never what somebody else began.
 */
import { presentSession } from '../../session.ts'
import { type Draft, EMPTY } from './draft.ts'

/** Characters kept at most: some fifty thousand identifiers. */
export const KEPT_MAX = 1_000_000

interface Kept {
  readonly who: string
  /** what the address named when it was begun */
  readonly from: string
  readonly draft: Draft
}

const placeOf = (isTask: boolean) => (isTask ? 'drover.draft.task' : 'drover.draft.job')
const whoIsHere = () => `${presentSession()?.organization} ${presentSession()?.email}`

/** Whether a value has the members of a draft, each of its kind. */
const isDraft = (value: unknown): value is Draft =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(EMPTY).every(([key, empty]) => {
    const own = (value as Record<string, unknown>)[key]
    return empty === null || own === null
      ? own !== undefined
      : Array.isArray(own) === Array.isArray(empty) && typeof own === typeof empty
  })

/** The draft that was left, where the address names nothing else than it did when that was begun. */
export function keptDraft(isTask: boolean, from: string): Draft | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(placeOf(isTask)) ?? 'null') as Partial<Kept> | null
    const isSame = kept?.who === whoIsHere() && (from === '' || from === kept.from)
    return isSame && isDraft(kept?.draft) ? kept.draft : null
  } catch {
    return null
  }
}

/** Keeps a draft in place of the one before; false where it is too large, and none is kept. */
export function keepDraft(isTask: boolean, from: string, draft: Draft): boolean {
  const text = JSON.stringify({ who: whoIsHere(), from, draft } satisfies Kept)
  try {
    if (text.length <= KEPT_MAX) {
      sessionStorage.setItem(placeOf(isTask), text)
      return true
    }
  } catch {
    // The browser keeps nothing, or nothing more.
  }
  forgetDraft(isTask)
  return false
}

/** Forgets the draft: it was launched, or is begun anew. */
export function forgetDraft(isTask: boolean): void {
  sessionStorage.removeItem(placeOf(isTask))
}
