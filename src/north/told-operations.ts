/** The page of operations that the finished notification carries, in the form of the listing. Serves: Events (`result`). */
import { jobId } from '../domain/identity.ts'
import type { ReadToldOperations } from '../engine/delivery-worker.ts'
import type { Database } from '../store/database.ts'
import { readJob } from '../store/jobs.ts'
import { readOperations } from './operations.ts'

/** Reads the first operations of a job that has ended. */
export function toldOperations(database: Database): ReadToldOperations {
  return async (organization, number, size) => {
    const job = await readJob(database, organization, number)
    if (!job) throw new Error(`the job ${jobId(number)} is gone`)
    const { page, operations } = await readOperations(database, job, { number: 1, size })
    return { page: { number: page.number, of: page.of }, operations }
  }
}
