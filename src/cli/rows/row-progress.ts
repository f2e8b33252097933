/** How far a long answer has come, row by row; the rows are counted beforehand, and only where somebody watches. */
import { textOf } from '../../contract/client/streams.ts'
import type { Run } from '../frame/command.ts'

export interface RowProgress {
  /** so many more rows have come */
  more(rows: number): void
  end(): void
}

export interface Reading {
  /** how many rows there are */
  readonly count: () => Promise<number>
  /** the most that are asked for */
  readonly limit?: number
  /** the rows are shown when all have come, and not as they come */
  readonly isGathered?: boolean
}

/** What comes in one page needs no bar. */
const SHORT = 1_000
const NOTHING: RowProgress = { more() {}, end() {} }

/**
 * A bar on standard error where that is a terminal, the rows do not scroll over it and there may be more of them than a page; without a
 * count it says only how many have come.
 */
export async function rowProgress({ out, surroundings }: Run, reading: Reading): Promise<RowProgress> {
  const { count, limit = Number.POSITIVE_INFINITY, isGathered = false } = reading
  const { stdout, stderr } = surroundings
  if (limit <= SHORT || !stderr.isTTY || (stdout.isTTY && !isGathered)) return NOTHING
  const total = Math.min(limit, await count().catch(() => 0))
  const progress = out.progress('Reading')
  let rows = 0
  return {
    more(came) {
      rows += came
      progress.show(total === 0 ? 0 : rows / total, total === 0 ? `${rows} rows` : `${rows} of ${total} rows`)
    },
    end: () => progress.end(),
  }
}

/** The same rows, with a bar beside them. */
export async function* watched<Row>(run: Run, rows: AsyncIterable<Row>, reading: Reading): AsyncGenerator<Row> {
  const progress = await rowProgress(run, reading)
  try {
    for await (const row of rows) {
      yield row
      progress.more(1)
    }
  } finally {
    progress.end()
  }
}

/** Writes CSV as it comes, and tells of its rows, among which its head is not; ends the progress. */
export async function writeCsv({ out }: Run, response: Response, progress: RowProgress): Promise<void> {
  let heads = 1
  try {
    for await (const text of textOf(response)) {
      await out.write(text)
      progress.more(text.split('\n').length - 1 - heads)
      heads = 0
    }
  } finally {
    progress.end()
  }
}
