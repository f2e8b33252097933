/** What a job tells a device, and what its operation type applies to now. Read for claims, never changed by them. */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** What requests are made of. `resourceTypes` is null where the operation type is gone. */
export interface JobContent {
  job: bigint
  organization: number
  name: string
  parameters: Record<string, unknown>
  ackTimeoutMs: number
  timeoutMs: number
  resourceTypes: readonly string[] | null
  models: readonly string[]
}

const read = statement<JobContent, [bigint[]]>(
  'job_contents_read',
  `select j.job, j.organization, j.name, coalesce(j.request -> 'parameters', '{}') as parameters,
          j.ack_timeout_ms::float8 as "ackTimeoutMs", j.timeout_ms::float8 as "timeoutMs",
          t.applicable_to as "resourceTypes",
          array(select coalesce(m ->> 'name', m #>> '{}') from jsonb_array_elements(t.models) m) as models
     from job j left join operation_type t on t.organization = j.organization and t.name = j.name
    where j.job = any($1::bigint[])`,
)

/** The contents of jobs, by job number. */
export async function readJobContents(db: Queryable, jobs: readonly bigint[]): Promise<Map<bigint, JobContent>> {
  const rows = jobs.length === 0 ? [] : await db.run(read, [[...jobs]])
  return new Map(rows.map(row => [row.job, row]))
}
