/**
 * The page of operations that the finished notification carries, in the form of the listing, and as long as a receiver can be expected to
 * read: what devices say of a hundred operations may be hundreds of megabytes. Serves: Events (`result`).
 */
import type { OperationView } from '../contract/operation.ts'
import { summaryOf } from '../domain/counters.ts'
import { jobId } from '../domain/identity.ts'
import type { ReadToldOperations } from '../engine/delivery-worker.ts'
import type { Database } from '../store/database.ts'
import { type JobRow, readJob } from '../store/jobs.ts'
import { type OperationPageStart, readOperationPage } from '../store/operation-reading.ts'
import { pageView } from './listing.ts'
import { operationView } from './operation-view.ts'

/** Bytes of the operations that are told, unless a single one is longer. */
export const TOLD_BYTES_MAX = 1_000_000
/** Read at once, so that what is in hand stays small beside what is told. */
const ROWS_AT_ONCE = 10

/** Reads the first operations of a job that has ended; where they are long, fewer than asked for: pages are of as many then. */
export function toldOperations(database: Database, bytesMax = TOLD_BYTES_MAX): ReadToldOperations {
  return async (organization, number, asked) => {
    const job = await readJob(database, organization, number)
    if (!job) throw new Error(`the job ${jobId(number)} is gone`)
    const operations: OperationView[] = []
    let size = asked
    let left = bytesMax
    for await (const operation of firstOperations(database, job, asked)) {
      left -= Buffer.byteLength(JSON.stringify(operation))
      // Fewer than one would be no page.
      if (left < 0 && operations.length > 0) {
        size = operations.length
        break
      }
      operations.push(operation)
    }
    const { number: first, of } = pageView({ number: 1, size }, summaryOf(job.counters).total)
    return { page: { number: first, of }, operations }
  }
}

async function* firstOperations(database: Database, job: JobRow, count: number): AsyncGenerator<OperationView> {
  let start: OperationPageStart = { skip: 0 }
  for (let left = count; left > 0; left -= ROWS_AT_ONCE) {
    const wanted = Math.min(left, ROWS_AT_ONCE)
    const rows = await readOperationPage(database, job.job, start, wanted)
    for (const row of rows) yield operationView(row, job)
    const last = rows.at(-1)
    if (last === undefined || rows.length < wanted) return
    start = { after: last }
  }
}
