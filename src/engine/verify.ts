/**
 * Recounts jobs from their rows and looks for rows that must not be, in bounded batches, each in one snapshot. Refuses to mend
 * what it finds. Serves: Job as read (`report.summary`).
 */
import { COUNTERS, type Counter } from '../domain/counters.ts'
import { jobId, operationId } from '../domain/identity.ts'
import { recountJobs } from '../store/counters.ts'
import type { Database } from '../store/database.ts'
import { readCounters } from '../store/jobs.ts'
import { type FaultyRows, faultyRows, jobsToVerify, type RowFault, strayLiveSlots } from '../store/verifying.ts'

/** Something that is not as it must be: a counter that its rows contradict, or rows with a fault. */
export type Difference =
  | {
      readonly kind: 'counter'
      readonly jobId: string
      readonly counter: Counter
      readonly counted: number
      readonly rows: number
    }
  | {
      readonly kind: RowFault
      readonly jobId: string
      /** how many operations of the job, and one of them */
      readonly operations: number
      readonly operationId: string
    }

/** What one call verified. */
export interface Verification {
  readonly jobs: number
  readonly differences: readonly Difference[]
  /** the last job verified, where more follow it */
  readonly next: bigint | null
}

export interface Verify {
  /** Verifies an organization's jobs after one, from the first with 0, until `signal` aborts or `maxJobs` are done. */
  verify(organization: number, after: bigint, maxJobs: number, signal: AbortSignal): Promise<Verification>
}

const JOBS_PER_BATCH = 20
const STRAY_SLOTS_MAX = 1_000

export function createVerify({ database }: { readonly database: Database }): Verify {
  /** One batch, in one snapshot; the first also looks at the live slots, which know no order of jobs. */
  async function verifyBatch(organization: number, after: bigint, limit: number) {
    return await database.transaction(
      async tx => {
        const jobs = await jobsToVerify(tx, organization, after, limit)
        const counters = await readCounters(tx, jobs)
        const rows = await recountJobs(tx, jobs)
        const counted = jobs.flatMap(job =>
          COUNTERS.filter(counter => counters.get(job)![counter] !== rows.get(job)![counter]).map(
            (counter): Difference => ({
              kind: 'counter',
              jobId: jobId(job),
              counter,
              counted: counters.get(job)![counter],
              rows: rows.get(job)![counter],
            }),
          ),
        )
        const strays = after === 0n ? await strayLiveSlots(tx, organization, STRAY_SLOTS_MAX) : []
        const faulty = [...strays, ...(await faultyRows(tx, jobs))]
        return { jobs, differences: [...counted, ...faulty.map(differenceOf)] }
      },
      { snapshot: true },
    )
  }

  return {
    async verify(organization, after, maxJobs, signal) {
      const differences: Difference[] = []
      let last = after
      let jobs = 0
      for (;;) {
        const limit = Math.min(JOBS_PER_BATCH, maxJobs - jobs)
        const batch = await verifyBatch(organization, last, limit)
        differences.push(...batch.differences)
        jobs += batch.jobs.length
        last = batch.jobs.at(-1) ?? last
        if (batch.jobs.length < limit) return { jobs, differences, next: null }
        if (jobs === maxJobs || signal.aborted) return { jobs, differences, next: last }
      }
    },
  }
}

function differenceOf(rows: FaultyRows): Difference {
  return { kind: rows.fault, jobId: jobId(rows.job), operations: rows.count, operationId: operationId(rows) }
}
