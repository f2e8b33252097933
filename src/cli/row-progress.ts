/** How far a long answer has come, row by row; the rows are counted beforehand, and only where somebody watches. */

import { textOf } from '../contract/client/streams.ts'
import type { Run } from './command.ts'

export interface RowProgress {
  /** so many more rows have come */
  more(rows: number): void
  end(): void
}

/** A bar on standard error where that is a terminal and the rows go elsewhere; without a count it says only how many have come. */
export async function rowProgress({ out, surroundings }: Run, countRows: () => Promise<number>): Promise<RowProgress> {
  const { stdout, stderr } = surroundings
  if (!stderr.isTTY || stdout.isTTY) return { more() {}, end() {} }
  const total = await countRows().catch(() => 0)
  const progress = out.progress('Reading')
  let rows = 0
  return {
    more(count) {
      rows += count
      progress.show(total === 0 ? 0 : rows / total, total === 0 ? `${rows} rows` : `${rows} of ${total} rows`)
    },
    end: () => progress.end(),
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
