/**
 * Where the rows of a list lie, however many they are: in which page of the interface, in which part of the table. Pages and parts count
 * from 0. It knows of no scroll bar and asks nothing.
 */

/** A page as it is asked for. */
export interface PageAsked {
  /** from 1 */
  readonly number: number
  readonly size: number
  readonly cursor?: string
}

/** A page as it came, and how many there are. */
export interface PageRead<Row> {
  readonly rows: readonly Row[]
  readonly of: number
  readonly cursor?: string | undefined
}

/** A list, and how its pages are read. */
export interface Rows<Row> {
  readonly key: readonly unknown[]
  readonly read: (page: PageAsked, signal: AbortSignal) => Promise<PageRead<Row>>
  /** rows in all, where that is known */
  readonly total?: number | undefined
  readonly live?: boolean
}

/** Rows of a page. */
export const PAGE = 100
/** Browsers cannot scroll over more pixels than this many rows take; beyond, they are shown part by part. */
export const PART = 400_000

/** The first row of each part and the one behind its last. */
export const partsOf = (total: number): { readonly first: number; readonly end: number }[] =>
  Array.from({ length: Math.ceil(total / PART) }, (_, part) => ({
    first: part * PART,
    end: Math.min(total, (part + 1) * PART),
  }))

/** The pages in which the rows from one to another lie, both of them with it. */
export function pagesOf(first: number, last: number): number[] {
  const page = Math.floor(first / PAGE)
  return Array.from({ length: Math.floor(last / PAGE) - page + 1 }, (_, index) => page + index)
}

/**
 * How many rows there are when the interface tells of so many pages: exactly, where the last of them has been read, or what was known
 * still fits; else no more than that many pages hold.
 */
export function rowsIn(pages: number, rowsOfLast: number | undefined, known: number | null): number {
  if (rowsOfLast !== undefined) return (pages - 1) * PAGE + rowsOfLast
  return known !== null && Math.ceil(known / PAGE) === pages ? known : pages * PAGE
}
