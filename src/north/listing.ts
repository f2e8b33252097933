/**
 * What every listing asks and answers alike: which page, of how many. Refuses to know what is listed.
 * Serves: Endpoints (`start`, `size`).
 */
import { LISTING_SIZE_DEFAULT, LISTING_SIZE_MAX, type PageView } from '../contract/operation.ts'
import type { Problem } from '../domain/problems.ts'
import { isAbsent, readWhole } from '../domain/reading.ts'
import { refusalOf } from '../domain/refusal.ts'

/** A page asked for: by its number from 1, or by the cursor of the page before. */
export interface ListingPage {
  readonly number: number
  readonly size: number
  readonly cursor?: string
}

/** Reads `start`, `size` and `cursor`; absent, 0 and 1 are the first page. Other parameters are ignored. */
export function readListingPage(query: unknown): ListingPage {
  const { start, size, cursor } = query as Readonly<Record<string, unknown>>
  const problems: Problem[] = []
  const whole = (json: unknown, path: string, fallback: number, min: number, max: number) =>
    isAbsent(json) ? fallback : (readWhole(json, path, { min, max }, problems) ?? fallback)
  const number = Math.max(1, whole(start, 'start', 1, 0, 1_000_000_000))
  const page = { number, size: whole(size, 'size', LISTING_SIZE_DEFAULT, 1, LISTING_SIZE_MAX) }
  if (problems.length > 0) throw refusalOf(problems)
  return typeof cursor === 'string' && cursor !== '' ? { ...page, cursor } : page
}

/** The page answered, of `total` rows in all; a cursor where the page is full. */
export function pageView({ number, size }: ListingPage, total: number, cursor?: string): PageView {
  return { number, of: Math.max(1, Math.ceil(total / size)), ...(cursor !== undefined && { cursor }) }
}
